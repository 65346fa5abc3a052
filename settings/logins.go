package settings

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// loginsField has the user's logins at MCP servers: documents that are sealed as a whole, by
// the servers' addresses.
const loginsField = "logins"

var loginsSchema = &schema.Object{Fields: []schema.Field{
	{Name: loginsField, Type: schema.Dict{Of: schema.Opt(schema.Secret{})}, Default: func() any { return schema.NewMap() }},
}}

// maxLogins bounds the logins that are kept. Those of states that other programs have made,
// which have a mark behind the address, are dropped first.
const maxLogins = 256

var errLoginsBlocked = fault.New(fault.Corrupt, "the file of logins at MCP servers is corrupted or encrypted with a different key: "+
	"restore that key as OH_SECRET_KEY or add it to OH_PREVIOUS_SECRET_KEYS")

// Logins returns the addresses at which there are logins.
func (s *Service) Logins() ([]string, error) {
	m, err := s.readable(s.logins)
	if err != nil {
		return nil, err
	}
	return m.Object(loginsField).Keys(), nil
}

// Login returns a login, nil if there is none, and schema.ErrSealed if no key opens it.
func (s *Service) Login(_ context.Context, key string) (json.RawMessage, error) {
	m, err := s.readable(s.logins)
	if err != nil {
		return nil, err
	}
	all := m.Object(loginsField)
	if _, there := all.Lookup(key); !there {
		return nil, nil
	}
	value := all.Text(key)
	if value == "" {
		return nil, schema.ErrSealed
	}
	return json.RawMessage(value), nil
}

// ChangeLogin replaces a login, nil for none, by the result of change, nil to remove it. One
// call at a time runs for all logins of the user, in all processes.
func (s *Service) ChangeLogin(ctx context.Context, key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	return s.change(ctx, s.logins, errLoginsBlocked, func(m *schema.Map) error {
		all := m.Object(loginsField).Copy()
		var now json.RawMessage
		if value := all.Text(key); value != "" {
			now = json.RawMessage(value)
		}
		next, err := change(now)
		if err != nil {
			return err
		}
		if next == nil {
			all.Delete(key)
		} else {
			all.Set(key, string(next))
		}
		for all.Len() > maxLogins {
			names := all.Keys()
			i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "#") && name != key })
			all.Delete(names[max(i, 0)])
		}
		m.Set(loginsField, all)
		return nil
	})
}
