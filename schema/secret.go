package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Mask stands for a secret in clients' views. Sent by a client, it means that
// there is no value.
const Mask = "**********"

// sealedPrefix begins every sealed value (the first bytes of a Fernet token).
const sealedPrefix = "gAAAAA"

// ErrSealed says that a stored secret cannot be opened with the present keys.
// Nothing may be written over it.
var ErrSealed error = fault.New(fault.Corrupt, "a stored secret cannot be decrypted with any configured key").
	Hint("restore the key it was saved under as OH_SECRET_KEY, or add it to OH_PREVIOUS_SECRET_KEYS")

// ErrNoKey is the error of sealing without a key.
var ErrNoKey = errors.New("no key is configured to encrypt secrets with")

// Keys seal and open secrets; internal/keyring has them.
type Keys interface {
	Seal(plain []byte) (string, error)
	Open(token string) ([]byte, error)
	// Stale reports whether only an old key opens the token.
	Stale(token string) bool
}

// Reading says how a document is read.
type Reading struct {
	// Keys open sealed secrets; nil leaves them as they are.
	Keys Keys
	// Strict makes a secret that Keys do not open an error ([ErrSealed]).
	Strict bool
}

// Mode is how secrets are written.
type Mode int

// The modes. Nulled also hides whether there is one.
const (
	Masked Mode = iota
	Plain
	Sealed
	Nulled
)

// Writing says how a document leaves the process.
type Writing struct {
	Mode Mode
	Keys Keys // for Sealed
	// NoNulls leaves out null members, at any depth, as state updates are written
	// (docs/openhands/sdk-wire-1.58.md section A).
	NoNulls bool
}

// Storing is how documents are written to files: with their secrets sealed, or
// in the clear where there are no keys.
func Storing(keys Keys) Writing {
	if keys == nil {
		return Writing{Mode: Plain}
	}
	return Writing{Mode: Sealed, Keys: keys}
}

// Secret is a text that is masked and sealed. Blank texts and the mask are
// null.
type Secret struct{}

func (Secret) check(r *reader, v any, loc []any) any {
	s, ok := v.(string)
	if !ok {
		r.add("string_type", "Input should be a valid string", nil, loc)
		return nil
	}
	return r.secret(s)
}

// secret returns a secret in the clear, or nil where there is none.
func (r *reader) secret(s string) any {
	if strings.TrimSpace(s) == "" || s == Mask {
		return nil
	}
	if r.Keys == nil || !strings.HasPrefix(s, sealedPrefix) {
		return s
	}
	plain, err := r.Keys.Open(s)
	switch {
	case err == nil:
		return string(plain)
	case !seals(r.Keys):
		return s // nothing was ever sealed here; it may be a value that looks like it
	}
	r.sealed = true
	return nil
}

// seals reports whether there is a current key: a ring may have none.
func seals(keys Keys) bool {
	if keys == nil {
		return false
	}
	ring, ok := keys.(interface{ CanSeal() bool })
	return !ok || ring.CanSeal()
}

func (Secret) dump(w *writer, v any) any { return w.secret(v, w.Mode == Nulled) }

func (w *writer) secret(v any, null bool) any {
	s, ok := v.(string)
	if !ok || null {
		return nil
	}
	switch w.Mode {
	case Plain:
		return s
	case Sealed:
		if !seals(w.Keys) {
			w.err = ErrNoKey
			return nil
		}
		if strings.HasPrefix(s, sealedPrefix) {
			if plain, err := w.Keys.Open(s); err == nil {
				if !w.Keys.Stale(s) {
					return s
				}
				s = string(plain)
			}
		}
		token, err := w.Keys.Seal([]byte(s))
		if err != nil {
			w.err = err
		}
		return token
	}
	return Mask
}

// Secrets is an object of the user's own keys whose values are secrets, such as
// environment variables. Only says by a key whether its value is a secret, or
// else a plain text; nil stands for all. Secrets without a value are left out.
// Masked, their names stay; Nulled, they are left out.
type Secrets struct{ Only func(key string) bool }

// Headers are HTTP headers, of which those are secrets whose names suggest it.
var Headers = Secrets{Only: secretName}

var secretWords = []string{"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN"}

func secretName(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(upper, word) })
}

func (t Secrets) secret(key string) bool { return t.Only == nil || t.Only(key) }

func (t Secrets) check(r *reader, v any, loc []any) any {
	return r.dict(v, loc, func(k string, v any, loc []any) (any, bool) {
		if !t.secret(k) {
			return String{}.check(r, v, loc), true
		}
		s := Secret{}.check(r, v, loc)
		return s, s != nil
	})
}

func (t Secrets) dump(w *writer, v any) any {
	return dumpDict(v, func(k string, v any) (any, bool) {
		if !t.secret(k) {
			return v, true
		}
		return w.secret(v, false), w.Mode != Nulled
	})
}

// Sources is an object whose values are secrets, or objects that locate a
// secret (docs/openhands/sdk-wire.md section 5.4, SecretSource). A sealed
// text that no key opens stays as it is.
type Sources struct{ Source Type }

func (t Sources) check(r *reader, v any, loc []any) any {
	return r.dict(v, loc, func(_ string, v any, loc []any) (any, bool) {
		s, ok := v.(string)
		if !ok {
			return t.Source.check(r, v, loc), true
		}
		if r.Keys != nil && strings.HasPrefix(s, sealedPrefix) {
			if plain, err := r.Keys.Open(s); err == nil {
				s = string(plain)
			} else {
				r.sealed = r.sealed || r.Strict
			}
		}
		return s, true
	})
}

func (t Sources) dump(w *writer, v any) any {
	return dumpDict(v, func(_ string, v any) (any, bool) {
		if s, ok := v.(string); ok {
			return w.secret(s, false), true
		}
		return w.dump(t.Source, v), true
	})
}

// Stale reports whether a stored document has a secret that only an old key
// opens.
func Stale(keys Keys, v any) bool {
	stale := false
	each(v, func(s string) string {
		stale = stale || strings.HasPrefix(s, sealedPrefix) && keys.Stale(s)
		return s
	})
	return stale
}

// Renew returns a stored document whose secrets are sealed by the current key.
// A secret that no key opens is [ErrSealed].
func Renew(keys Keys, v any) (out any, err error) {
	out = each(v, func(s string) string {
		if err != nil || !strings.HasPrefix(s, sealedPrefix) {
			return s
		}
		plain, oerr := keys.Open(s)
		switch {
		case oerr != nil:
			err = ErrSealed
		case keys.Stale(s):
			s, err = keys.Seal(plain)
		}
		return s
	})
	return out, err
}
