package config

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/keyring"
)

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

// Origin reports whether pages of an origin may use the server. The origin null,
// which any page can give a frame, never may.
func (c *Config) Origin(origin string) bool {
	if !strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://") {
		return false
	}
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
// key that is kept in the persistence directory; see [keyring.Load]. Call it
// once; it may write the file.
func (l *Loaded) Ring() (*keyring.Ring, error) {
	previous := make([]string, 0, len(l.PreviousSecretKeys))
	for _, k := range l.PreviousSecretKeys {
		previous = append(previous, k.Reveal())
	}
	return keyring.Load(l.PersistenceDir, l.SecretKey.Reveal(), previous...)
}
