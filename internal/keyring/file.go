package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// File is the file with the key that seals secrets where none is configured.
const File = "agent-server.key"

// Load returns the ring of a directory. Secrets are sealed with the configured
// key, or, if that is blank, with a key that is made once and kept in the
// directory, so that secrets survive a restart. Values that were sealed with the
// kept key stay readable after a key was configured. Load may write the file. The
// error is of kind Corrupt for a damaged file, and Denied or Full for one that
// cannot be written.
func Load(dir, configured string, previous ...string) (*Ring, error) {
	file := filepath.Join(dir, File)
	kept, err := readKey(file)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(configured) == "" {
		configured = ""
	}
	if configured == "" && kept == "" {
		if kept, err = makeKey(file); err != nil {
			return nil, fmt.Errorf("keep a key for secrets: %w", err)
		}
	}
	if configured == "" {
		return New(kept, previous...), nil
	}
	if kept != "" {
		previous = append(previous[:len(previous):len(previous)], kept)
	}
	return New(configured, previous...), nil
}

// readKey reads the kept key, or returns "".
func readKey(file string) (string, error) {
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
	return key, nil
}

// makeKey makes the kept key. Of processes that do so at the same time, all use
// the key of the first.
func makeKey(file string) (key string, err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.Wrap(err, fault.Denied, "make the directory of the key")
	}
	tmp, err := os.CreateTemp(dir, "."+File+".*") // 0600
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
