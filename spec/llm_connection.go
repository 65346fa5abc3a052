package spec

import (
	"cmp"
	"fmt"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Connection is the part of LLMs that a shared provider connection supplies.
type Connection struct {
	APIKey  llm.Secret
	BaseURL *string
}

// Connections finds a shared connection by its id; ok is false where there is
// none.
type Connections func(id string) (c Connection, ok bool, err error)

// DanglingError says that an LLM names a connection that does not exist. It is
// of kind Invalid.
type DanglingError struct {
	Owner string // "Profile 'x'" or "LLM config"
	ID    string
}

// Error implements error.
func (e *DanglingError) Error() string {
	return fmt.Sprintf("%s references provider connection '%s', which does not exist. Update the profile or recreate the connection.", e.Owner, e.ID)
}

// Unwrap gives the error its kind.
func (e *DanglingError) Unwrap() error { return fault.New(fault.Invalid, "") }

// Resolve puts the key and the base URL of the LLM's provider connection into
// it. profile names the profile it came from, for the error; "" for none. A
// connection that is gone is a [DanglingError], unless the LLM has a key of its
// own (docs/openhands/sdk-wire-1.58.md section C.4).
func (l *LLM) Resolve(find Connections, profile string) error {
	if l.ProviderConnectionID == nil || *l.ProviderConnectionID == "" || find == nil {
		return nil
	}
	id := *l.ProviderConnectionID
	c, ok, err := find(id)
	switch {
	case err != nil:
		return fmt.Errorf("read provider connections: %w", err)
	case !ok && l.HasKey():
		return nil
	case !ok:
		owner := "LLM config"
		if profile != "" {
			owner = "Profile '" + profile + "'"
		}
		return &DanglingError{Owner: owner, ID: id}
	}
	l.BaseURL = c.BaseURL
	l.APIKey = cmp.Or(c.APIKey, l.APIKey)
	return nil
}
