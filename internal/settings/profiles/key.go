package profiles

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
)

// maxKey bounds a key; a longer text is not one.
const maxKey = 16 << 10

// keyFrom returns the key of the first variable that has one. An LLM with an
// address of its own may need none.
func keyFrom(l *spec.LLM, env func(string) string, names []string) (llm.Secret, error) {
	for _, name := range names {
		if key := strings.TrimSpace(env(name)); key != "" {
			return llm.Secret(key), checkKey(key, "the variable "+name)
		}
	}
	if len(names) == 0 || l.BaseURL != nil && *l.BaseURL != "" {
		return "", nil
	}
	return "", fault.New(fault.Auth, "no API key for "+l.Model).Hint("set " + strings.Join(names, " or "))
}

func keyFromFile(path string) (llm.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.Wrap(err, fault.Auth, "read the key file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fault.Wrap(err, fault.Auth, "read the key file")
	}
	key := strings.TrimSpace(string(b))
	return llm.Secret(key), checkKey(key, path)
}

// checkKey refuses what cannot be a key, without showing it.
func checkKey(key, from string) error {
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, odd) {
		return fault.New(fault.Auth, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return nil
}
