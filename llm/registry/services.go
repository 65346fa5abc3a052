package registry

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// known are the services that profiles can be assigned to.
var serviceNames = []string{Agent, Condenser, Drafts, Security, Titles}

// CheckService refuses, with kind Invalid, what is not the name of a service of
// Deft's: one with a typing mistake would have no effect without a word.
func CheckService(name string) error {
	if slices.Contains(serviceNames, name) {
		return nil
	}
	return fault.New(fault.Invalid, "there is no service "+name).Hint("there are: " + strings.Join(serviceNames, ", "))
}

// assignments is the form of the file that says which profile a service uses.
type assignments struct {
	SchemaVersion int               `json:"schema_version"` // 1
	Services      map[string]string `json:"services"`
}

func servicesPath(dir string) string { return filepath.Join(filepath.Dir(dir), "services.json") }

// Assigned returns which profile each service uses, for a directory of profiles
// that need not exist. Invalid or Unsupported if what is stored there is
// nothing that this version reads, Denied if it cannot be read.
func Assigned(dir string) (map[string]string, error) {
	if dir == "" {
		return nil, nil
	}
	path := servicesPath(dir)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "read the models of the services")
	}
	var a assignments
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fault.New(fault.Invalid, path+" is damaged").Because(err).Hint("delete it, and choose the profiles again")
	}
	if a.SchemaVersion != schemaVersion {
		return nil, fault.New(fault.Unsupported, path+" was written by another version of Deft").Hint("delete it, and choose the profiles again")
	}
	return a.Services, nil
}

// Services returns which profile each service uses.
func (s *Profiles) Services() (map[string]string, error) { return Assigned(s.dir) }

// Assign lets a service use a profile from now on, or no own one if that is "".
// NotFound if there is no such profile, Invalid if there is no such service.
func (s *Profiles) Assign(ctx context.Context, service, profile string) error {
	if err := CheckService(service); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if profile != "" {
		if _, err := s.Get(profile); err != nil {
			return err
		}
	}
	old, err := s.Services()
	if err != nil {
		return err
	}
	a := assignments{schemaVersion, maps.Clone(old)}
	if a.Services == nil {
		a.Services = map[string]string{}
	}
	if a.Services[service] = profile; profile == "" {
		delete(a.Services, service)
	}
	// Strings always encode.
	data, _ := json.MarshalIndent(a, "", "  ")
	return write(servicesPath(s.dir), append(data, '\n'))
}

func (s *Profiles) keyPath(name string) string {
	return filepath.Join(filepath.Dir(s.dir), "keys", name)
}

// PutKey stores a key in a file that only the user can read, and makes it the
// key of p, which has to be stored under name afterwards. It is for where there
// is no key ring.
func (s *Profiles) PutKey(name string, p *Profile, key llm.Secret) error {
	if err := errors.Join(checkName(name), checkKey(key.Reveal(), "the text")); err != nil {
		return err
	}
	path := s.keyPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "make the directory of the keys")
	}
	if err := write(path, []byte(key.Reveal()+"\n")); err != nil {
		return err
	}
	p.APIKeyEnv, p.APIKeyFile, p.SealedAPIKey = "", path, ""
	return nil
}

func (s *Profiles) deleteKey(name string) error {
	if err := os.Remove(s.keyPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Denied, "delete the key of the profile "+name)
	}
	return nil
}
