package keyring

import (
	"encoding/base64"
	"time"
)

// SealAt seals with a bare Fernet key, a time and an IV, for the vectors of
// the specification.
func SealAt(fernetKey string, value []byte, at time.Time, iv []byte) (string, error) {
	b, err := base64.URLEncoding.DecodeString(fernetKey)
	if err != nil {
		return "", err
	}
	k := newKey(b)
	return k.sealAt(value, at, iv), nil
}

// OpenWith opens with a bare Fernet key.
func OpenWith(fernetKey, token string) (string, bool) {
	b, err := base64.URLEncoding.DecodeString(fernetKey)
	if err != nil {
		return "", false
	}
	t, ok := parse(token)
	if !ok {
		return "", false
	}
	k := newKey(b)
	value, ok := k.open(t)
	return string(value), ok
}
