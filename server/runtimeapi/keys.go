package runtimeapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Key is a client's key.
type Key struct {
	// Name is its owner's: clients with keys of one name share their runtimes.
	Name string
	// Quota is how many runtimes the owner may have at a time; 0 for no limit.
	Quota int

	sum [sha256.Size]byte
}

// NewKey returns the key with the given secret.
func NewKey(name, secret string, quota int) Key {
	return Key{name, quota, sha256.Sum256([]byte(secret))}
}

// ParseKeys reads a file of keys: one to a line, alone or after its name and before its
// quota, separated by spaces. Empty lines and lines that begin with # are skipped. No
// error shows a key.
func ParseKeys(text string, quota int) ([]Key, error) {
	var keys []Key
	lines := map[[sha256.Size]byte]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		k := NewKey("default", words[0], quota)
		if len(words) > 1 {
			k = NewKey(words[0], words[1], quota)
		}
		if len(words) > 2 {
			n, err := strconv.Atoi(words[2])
			if err != nil || n < 0 || len(words) > 3 {
				return nil, fault.New(fault.Invalid, fmt.Sprintf("line %d of the keys is none", number)).Hint("a line is KEY, NAME KEY or NAME KEY QUOTA")
			}
			k.Quota = n
		}
		if before := lines[k.sum]; before > 0 { // whose runtimes would it see?
			return nil, fault.New(fault.Invalid, fmt.Sprintf("lines %d and %d of the keys have the same key", before, number)).Hint("give each its own, or remove one")
		}
		lines[k.sum] = number
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fault.New(fault.Invalid, "there is no API key").Hint("a line is KEY, NAME KEY or NAME KEY QUOTA")
	}
	return keys, nil
}

// find returns the key with a secret. It takes the same time for every one.
func find(keys []Key, secret string) (found Key, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, k := range keys {
		if subtle.ConstantTimeCompare(sum[:], k.sum[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}
