package profiles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// llmVersion is the schema version of LLM profiles.
const llmVersion = 1

// LLMs are the saved LLM profiles.
type LLMs struct {
	folder
	keys        schema.Keys
	connections *Connections
}

// Summary is what a list says about an LLM profile.
type Summary struct {
	Name             string  `json:"name"`
	Model            *string `json:"model"`
	BaseURL          *string `json:"base_url"`
	ConnectionID     *string `json:"provider_connection_id"`
	ConnectionBroken bool    `json:"provider_connection_broken"`
	APIKeySet        bool    `json:"api_key_set"`
}

// Load returns a profile's LLM, with the key and the address of its provider
// connection. A connection that is gone is a spec.DanglingError.
func (s *LLMs) Load(ctx context.Context, name string) (*spec.LLM, error) {
	l, err := s.Stored(ctx, name)
	if err != nil {
		return nil, err
	}
	return l, l.Resolve(s.connections.Find(ctx), name)
}

// Stored returns a profile's LLM as it is stored, without its connection.
func (s *LLMs) Stored(ctx context.Context, name string) (*spec.LLM, error) {
	unlock, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := s.existing(name)
	if err != nil {
		return nil, err
	}
	if v := m.Get("schema_version"); v != nil && v != schema.Count(llmVersion) && v != schema.Count(0) {
		return nil, s.unreadable(name, fmt.Errorf("LLM profile schema_version %v is newer than supported version %d", v, llmVersion))
	}
	spec.CanonicalizeLLM(m)
	doc, err := spec.LLMSchema.Check(m, schema.Reading{Keys: s.keys})
	if err != nil {
		return nil, s.unreadable(name, err)
	}
	return spec.LLMFrom(doc)
}

// Save writes a profile. Without secrets, its keys are left out. An LLM with a
// provider connection is stored without a key or an address of its own. A new
// profile beyond [Limit] is a Conflict.
func (s *LLMs) Save(ctx context.Context, name string, l *spec.LLM, secrets bool) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	doc, err := s.persisted(l, secrets)
	if err != nil {
		return err
	}
	return s.keep(ctx, path, doc)
}

func (s *LLMs) persisted(l *spec.LLM, secrets bool) (*schema.Map, error) {
	if l.ProviderConnectionID != nil && *l.ProviderConnectionID != "" {
		c := *l
		c.APIKey, c.BaseURL = "", nil
		l = &c
	}
	doc, err := l.Doc()
	if err != nil {
		return nil, err
	}
	how := schema.Writing{Mode: schema.Masked}
	if secrets {
		how = schema.Storing(s.keys)
	}
	if doc, err = spec.LLMSchema.Dump(doc, how); err != nil {
		return nil, err
	}
	out := schema.NewMap()
	for _, k := range doc.Keys() {
		if v := doc.Get(k); v != nil {
			out.Set(k, v)
		}
	}
	if l.AuthType == "subscription" {
		for _, k := range []string{"api_key", "base_url", "extra_headers"} {
			out.Delete(k)
		}
	}
	out.Set("schema_version", schema.Count(llmVersion))
	return out, nil
}

// Names returns the names of all profiles, sorted.
func (s *LLMs) Names(ctx context.Context) ([]string, error) {
	unlock, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.names()
}

// List returns all profiles. Files that cannot be read are passed over.
// Provider connections are read only if a profile has one.
func (s *LLMs) List(ctx context.Context) ([]Summary, error) {
	out, linked, err := s.list(ctx)
	if err != nil || !linked {
		return out, err
	}
	shared, err := s.connections.List(ctx, false)
	if err != nil {
		return nil, err
	}
	hasKey := map[string]bool{}
	for _, c := range shared {
		hasKey[c.ID] = c.APIKey != ""
	}
	for i := range out {
		if id := out[i].ConnectionID; id != nil {
			key, ok := hasKey[*id]
			out[i].ConnectionBroken = !ok
			out[i].APIKeySet = out[i].APIKeySet || key
		}
	}
	return out, nil
}

// list returns all profiles without what their connections add, and whether
// there are any.
func (s *LLMs) list(ctx context.Context) (out []Summary, linked bool, err error) {
	unlock, err := s.hold(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	out = []Summary{}
	err = s.each(func(name string, m *schema.Map) error {
		spec.CanonicalizeLLM(m)
		one := Summary{
			Name: name, Model: m.Pointer("model"), BaseURL: m.Pointer("base_url"), ConnectionID: m.Pointer("provider_connection_id"),
			APIKeySet: isKey(m.Text("api_key")),
		}
		linked = linked || one.ConnectionID != nil
		out = append(out, one)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return out, linked, nil
}

func (s *LLMs) rename(ctx context.Context, from, to string) error {
	unlock, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, next, same, err := s.pair(from, to)
	if err != nil || same {
		return err
	}
	if err := os.Rename(old, next); err != nil {
		return err
	}
	return filestore.Sync(filepath.Dir(next))
}

// isKey reports whether a stored key is one: neither blank nor the mask.
func isKey(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return s != schema.Mask
		}
	}
	return false
}
