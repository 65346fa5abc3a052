package registry

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Cipher encrypts keys for storage. The result is text that reveals nothing
// about the key.
type Cipher interface {
	Seal(key []byte) (string, error)
	Open(sealed string) ([]byte, error)
}

// maxKey is the maximum length of a key.
const maxKey = 16 << 10

// Seal stores an encrypted key in the profile, in place of its former key or
// reference. Without a cipher it fails with kind Unsupported: keys are not
// stored in plain text.
func (p *Profile) Seal(key llm.Secret, c Cipher) error {
	if c == nil {
		return fault.New(fault.Unsupported, "a key cannot be stored without a key ring").
			Hint("name a variable (api_key_env) or a file (api_key_file) that holds it")
	}
	if err := checkKey(key.Reveal(), "the text"); err != nil {
		return err
	}
	sealed, err := c.Seal([]byte(key.Reveal()))
	if err != nil {
		return fmt.Errorf("seal the key: %w", err)
	}
	p.APIKeyEnv, p.APIKeyFile, p.SealedAPIKey = "", "", sealed
	return nil
}

// key finds the key of a profile. usual are the provider's own variables.
func (p *Profile) key(env func(string) string, usual []string, c Cipher) (llm.Secret, error) {
	switch {
	case p.SealedAPIKey != "":
		return p.unseal(c)
	case p.APIKeyFile != "":
		return keyFromFile(p.APIKeyFile)
	case p.APIKeyEnv != "":
		if env(p.APIKeyEnv) == "" {
			return "", fault.New(fault.Auth, "the environment variable "+p.APIKeyEnv+" is empty").Hint("set it to the key")
		}
		usual = []string{p.APIKeyEnv}
	}
	for _, name := range usual {
		if key := strings.TrimSpace(env(name)); key != "" {
			return llm.Secret(key), checkKey(key, "the variable "+name)
		}
	}
	if len(usual) == 0 || p.BaseURL != "" { // own servers may need none
		return "", nil
	}
	return "", fault.New(fault.Auth, "no API key for "+p.Model).Hint("set " + strings.Join(usual, " or "))
}

func (p *Profile) unseal(c Cipher) (llm.Secret, error) {
	if c == nil {
		return "", fault.New(fault.Auth, "the profile's key is sealed, and there is no key ring")
	}
	key, err := c.Open(p.SealedAPIKey)
	if err != nil {
		return "", fault.Wrap(err, fault.Auth, "the profile's key cannot be unsealed")
	}
	return llm.Secret(key), checkKey(string(key), "the sealed key")
}

func keyFromFile(path string) (llm.Secret, error) {
	if !filepath.IsAbs(path) {
		return "", fault.New(fault.Invalid, "api_key_file must be an absolute path")
	}
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

// checkKey returns an error for a value that cannot be a key, without showing
// it.
func checkKey(key, from string) error {
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, odd) {
		return fault.New(fault.Auth, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return nil
}
