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

// serviceNames are the services that profiles can be assigned to.
var serviceNames = []string{Agent, Condenser, Drafts, Security, Titles}

// CheckService returns an error of kind Invalid for an unknown service: an
// assignment to a misspelled name would have no effect.
func CheckService(name string) error {
	if slices.Contains(serviceNames, name) {
		return nil
	}
	return fault.New(fault.Invalid, "there is no service "+name).Hint("the services are: " + strings.Join(serviceNames, ", "))
}

// assignments is the file with the profiles of services.
type assignments struct {
	SchemaVersion int               `json:"schema_version"` // 1
	Services      map[string]string `json:"services"`
}

func servicesPath(dir string) string { return filepath.Join(filepath.Dir(dir), "services.json") }

// Assigned returns the profile of each service, for a directory of profiles
// that need not exist. Errors are of kind Invalid or Unsupported if this
// version cannot use the file, and Denied if it cannot be read.
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
		return nil, fault.Wrap(err, fault.Denied, "read the profiles of the services")
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

// Services returns the profile of each service.
func (s *Profiles) Services() (map[string]string, error) { return Assigned(s.dir) }

// Assign sets the profile of a service; "" removes it. Errors are of kind
// NotFound for an unknown profile, Invalid for an unknown service.
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
// key of p, which the caller then stores under name. It is for systems without
// a key ring.
func (s *Profiles) PutKey(name string, p *Profile, key llm.Secret) error {
	if err := errors.Join(checkName(name), checkKey(key.Reveal(), "the text")); err != nil {
		return err
	}
	path := s.keyPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "create the directory of the keys")
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
