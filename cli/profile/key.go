package profile

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// maxKey bounds a key file; a longer one is not a key.
const maxKey = 16 << 10

// KeyFromFile reads the key in a file.
func KeyFromFile(path string) (llm.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	return CheckKey(string(b), path)
}

// CheckKey refuses text that cannot be a key, without ever showing it.
func CheckKey(key, from string) (llm.Secret, error) {
	key = strings.TrimSpace(key)
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) >= maxKey || strings.ContainsFunc(key, odd) {
		return "", fault.New(fault.Invalid, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return llm.Secret(key), nil
}
