package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/llm"
)

// KeyFile is the file in the persistence directory with the key that seals
// secrets where none is configured.
const KeyFile = "agent-server.key"

// Keys returns the session keys as requests are compared with them.
func (c *Config) Keys() []string {
	keys := make([]string, 0, len(c.SessionAPIKeys))
	for _, k := range c.SessionAPIKeys {
		keys = append(keys, k.Reveal())
	}
	return keys
}

// InitKey returns the key of /api/init. Without one the route is open, unless a
// blank key was configured: then it is closed.
func (c *Config) InitKey() (key string, open bool) {
	return c.SecretKey.Reveal(), c.SecretKey == "" && !c.blankSecretKey
}

// Origin reports whether pages of an origin may use the server with a key.
func (c *Config) Origin(origin string) bool {
	if slices.Contains(c.AllowCORSOrigins, origin) || slices.Contains(c.AllowCORSOrigins, "*") {
		return true
	}
	if c.AllowCORSOriginRegex == nil {
		return false
	}
	re, err := regexp.Compile(`^(?:` + *c.AllowCORSOriginRegex + `)$`) // Load refused it otherwise
	return err == nil && re.MatchString(origin)
}

// Names reports whether a host, as browsers send it, names this machine or the
// configured address of the server.
func (c *Config) Names(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil {
		return false
	}
	name := u.Hostname()
	if Private(name) || name != "" && name == os.Getenv("DOCKER_HOST_ADDR") {
		return true
	}
	own := slices.Clone(c.AllowCORSOrigins)
	if c.WebURL != nil {
		own = append(own, *c.WebURL)
	}
	return slices.ContainsFunc(own, func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && name != "" && strings.EqualFold(u.Hostname(), name)
	})
}

// Ring returns the keys that seal stored secrets: the configured one, else a
// key that is made once and kept in the persistence directory, so that secrets
// survive a restart. What was sealed by the kept one stays readable after a key
// was configured. Call it once; it may write the file.
func (l *Loaded) Ring() (*keyring.Ring, error) {
	previous := make([]string, 0, len(l.PreviousSecretKeys)+1)
	for _, k := range l.PreviousSecretKeys {
		previous = append(previous, k.Reveal())
	}
	file := filepath.Join(l.PersistenceDir, KeyFile)
	kept, err := readKey(file)
	if err != nil {
		return nil, err
	}
	current := l.SecretKey
	if current == "" && kept == "" {
		if kept, err = makeKey(file); err != nil {
			return nil, fmt.Errorf("keep a key for secrets: %w", err)
		}
	}
	if current == "" {
		current = kept
	} else if kept != "" {
		previous = append(previous, kept.Reveal())
	}
	return keyring.New(current.Reveal(), previous...), nil
}

// readKey reads the kept key, or returns "".
func readKey(file string) (llm.Secret, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap(err, fault.Denied, "read the key of stored secrets")
	}
	key := strings.TrimSpace(string(raw))
	if len(key) < 32 || len(raw) > 4096 {
		return "", fault.New(fault.Corrupt, "the key of stored secrets in "+file+" is damaged").
			Hint("put its backup there; without one, delete it and enter the secrets again")
	}
	return llm.Secret(key), nil
}

// makeKey makes the kept key. Of servers that do so at the same time, all use the
// key of the first.
func makeKey(file string) (key llm.Secret, err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.Wrap(err, fault.Denied, "make the persistence directory")
	}
	tmp, err := os.CreateTemp(dir, "."+KeyFile+".*") // 0600
	if err != nil {
		return "", fault.Wrap(err, fault.Denied, "write the key of stored secrets")
	}
	defer os.Remove(tmp.Name())
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	_, err = tmp.WriteString(base64.RawURLEncoding.EncodeToString(random[:]) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", fault.Wrap(err, fault.Full, "write the key of stored secrets")
	}
	if err := os.Link(tmp.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fault.Wrap(err, fault.Denied, "write the key of stored secrets")
	}
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return "", fault.Wrap(err, fault.Full, "write the key of stored secrets")
	}
	return readKey(file)
}
