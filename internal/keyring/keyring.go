// Package keyring encrypts stored secrets, so that a copy of the files is useless
// without the key.
//
// A sealed value is a Fernet token (github.com/fernet/spec): AES-128-CBC and
// HMAC-SHA256. The reference server writes the same, so either opens the files of
// the other. A Fernet key is the SHA-256 of a secret key: its first half signs,
// its second half encrypts.
//
// # Usage
//
//	ring := keyring.New(secretKey, previousKeys...)
//	token, err := ring.Seal([]byte(value))
//	value, err := ring.Open(token)
//
// After a rotation the old key goes to the previous ones: they open and never
// seal, and [Ring.Renew] moves a value to the current key.
//
// # Concurrency and failure
//
// A Ring does not change and is safe for concurrent use. Errors never hold a value
// or a token. A token that no key opens is an error of kind fault.Denied whose
// hint tells the operator's next step.
package keyring

import (
	"crypto/sha256"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Prefix is how every sealed value begins.
const Prefix = "gAAAAA"

// Ring holds the current key and those that were current before. The zero
// value and a nil Ring have no key: they open nothing and seal nothing.
type Ring struct {
	current  *key  // nil for none
	previous []key // the likeliest first
}

// New returns the ring of a secret key and of previous ones, the last one used
// first. Blank keys and repetitions are left out; without a current key the
// ring opens and does not seal.
func New(current string, previous ...string) *Ring {
	r := &Ring{}
	seen := map[string]bool{}
	if strings.TrimSpace(current) != "" {
		k := derive(current)
		r.current, seen[current] = &k, true
	}
	for _, p := range previous {
		if strings.TrimSpace(p) == "" || seen[p] {
			continue
		}
		seen[p] = true
		r.previous = append(r.previous, derive(p))
	}
	return r
}

func derive(secret string) key {
	sum := sha256.Sum256([]byte(secret))
	return newKey(sum[:])
}

// CanSeal reports whether the ring has a current key.
func (r *Ring) CanSeal() bool { return r != nil && r.current != nil }

// HasPrevious reports whether there are keys that were current before.
func (r *Ring) HasPrevious() bool { return r != nil && len(r.previous) > 0 }

// Seal returns value as a token of the current key. Without one it is an error
// of kind fault.Unsupported.
func (r *Ring) Seal(value []byte) (string, error) {
	if !r.CanSeal() {
		return "", fault.New(fault.Unsupported, "cannot encrypt a secret: there is no secret key").
			Hint("set OH_SECRET_KEY")
	}
	return r.current.seal(value), nil
}

// Open returns the value of a token, tried with the current key and then with
// the previous ones. The error is of kind fault.Denied.
func (r *Ring) Open(token string) ([]byte, error) {
	value, _, err := r.open(token)
	return value, err
}

// Stale reports whether only a previous key opens the token, so that it should
// be sealed again.
func (r *Ring) Stale(token string) bool {
	_, current, err := r.open(token)
	return err == nil && !current
}

// Renew returns the token itself if the current key opens it, and its value
// sealed by the current key if a previous one does. A ring without a current
// key returns it as it is.
func (r *Ring) Renew(token string) (string, error) {
	value, current, err := r.open(token)
	if err != nil || current || !r.CanSeal() {
		return token, err
	}
	return r.Seal(value)
}

// Looks reports whether s begins as a sealed value does. It uses no key.
func (r *Ring) Looks(s string) bool { return Looks(s) }

// Looks reports whether s begins as a sealed value does.
func Looks(s string) bool { return strings.HasPrefix(s, Prefix) }

func (r *Ring) open(token string) (value []byte, current bool, err error) {
	t, ok := parse(token)
	if !ok {
		return nil, false, fault.New(fault.Denied, "this is not an encrypted value").Hint(rotated)
	}
	if r == nil {
		r = &Ring{}
	}
	if r.current != nil {
		if value, ok := r.current.open(t); ok {
			return value, true, nil
		}
	}
	for i := range r.previous {
		if value, ok := r.previous[i].open(t); ok {
			return value, false, nil
		}
	}
	return nil, false, fault.New(fault.Denied, "a stored secret cannot be decrypted with any configured key").Hint(rotated)
}

// rotated is the operator's next step for a value that no key opens.
const rotated = "it was saved under a key that is neither OH_SECRET_KEY nor in OH_PREVIOUS_SECRET_KEYS: " +
	"restore that key as OH_SECRET_KEY, or add it to OH_PREVIOUS_SECRET_KEYS to move to the current key"
