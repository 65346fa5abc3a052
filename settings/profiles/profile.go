package profiles

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Profile is a saved LLM, with the place of its key if the profile does not hold
// the key itself.
type Profile struct {
	LLM *spec.LLM
	// At most one of KeyEnv, KeyFile and the LLM's api_key is set. Without any, the
	// provider's usual environment variables are read. The two are stored in
	// api_key_env and api_key_file, which the reference ignores, and are not part
	// of an LLM that is loaded.
	KeyEnv  string // name of a variable
	KeyFile string // absolute path
}

// keyEnv and keyFile are the fields of [Profile] in the file.
const (
	keyEnv  = "api_key_env"
	keyFile = "api_key_file"
)

var variables = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check validates the profile without looking at others. Errors are
// schema.Violations or of kind Invalid, and never contain a key.
func (p Profile) Check() error {
	doc, err := p.LLM.Doc()
	if err != nil {
		return err
	}
	if _, err := spec.LLMSchema.Check(doc, schema.Reading{}); err != nil {
		return err
	}
	bad := func(what string) error { return fault.New(fault.Invalid, what) }
	switch {
	case p.KeyEnv != "" && !variables().MatchString(p.KeyEnv):
		return bad("api_key_env takes the name of a variable, not a key")
	case p.KeyFile != "" && !filepath.IsAbs(p.KeyFile):
		return bad("api_key_file must be an absolute path")
	case p.KeyEnv != "" && p.KeyFile != "" || p.LLM.HasKey() && (p.KeyEnv != "" || p.KeyFile != ""):
		return bad("a profile has one key: api_key, api_key_env or api_key_file")
	case (p.LLM.InputCostPerToken == nil) != (p.LLM.OutputCostPerToken == nil):
		return bad("the prices of input and output must both be given")
	}
	return nil
}

// Doc returns the profile as it may leave the process.
func (p Profile) Doc(how schema.Writing) (*schema.Map, error) {
	doc, err := p.LLM.Doc()
	if err != nil {
		return nil, err
	}
	if doc, err = spec.LLMSchema.Dump(doc, how); err != nil {
		return nil, err
	}
	p.addKey(doc)
	return doc, nil
}

func (p Profile) addKey(doc *schema.Map) {
	for key, value := range map[string]string{keyEnv: p.KeyEnv, keyFile: p.KeyFile} {
		if value != "" {
			doc.Set(key, value)
		}
	}
}

// key returns the key of the profile: its own, or from the variable or the file
// that it names, or from one of the provider's usual variables.
func (p Profile) key(env func(string) string, usual []string) (llm.Secret, error) {
	switch {
	case p.LLM.HasKey():
		return p.LLM.APIKey, nil
	case p.KeyFile != "":
		return keyFromFile(p.KeyFile)
	case p.KeyEnv != "":
		if env(p.KeyEnv) == "" {
			return "", fault.New(fault.Auth, "the environment variable "+p.KeyEnv+" is empty").Hint("set it to the key")
		}
		usual = []string{p.KeyEnv}
	}
	return keyFrom(p.LLM, env, usual)
}

// maxKey is the length of the longest key, in bytes.
const maxKey = 16 << 10

// keyFrom returns the key in the first variable that is set. An LLM with a base
// URL may need none.
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
	key := strings.TrimSpace(string(textfile.Decode(b)))
	return llm.Secret(key), checkKey(key, path)
}

// checkKey refuses text that cannot be a key, without showing it.
func checkKey(key, from string) error {
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, odd) {
		return fault.New(fault.Auth, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return nil
}
