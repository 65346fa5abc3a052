package profiles

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
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
	env         func(string) string
}

// Summary is an LLM profile in a list.
type Summary struct {
	Name             string  `json:"name"`
	Model            *string `json:"model"`
	BaseURL          *string `json:"base_url"`
	ConnectionID     *string `json:"provider_connection_id"`
	ConnectionBroken bool    `json:"provider_connection_broken"`
	APIKeySet        bool    `json:"api_key_set"`
}

// Load returns a profile's LLM, with the key that it names and with the key and
// the address of its provider connection. A connection that is gone is a
// spec.DanglingError, a key that cannot be read an error of kind Auth.
func (s *LLMs) Load(ctx context.Context, name string) (*spec.LLM, error) {
	return s.LoadWithKey(ctx, name, nil)
}

// LoadWithKey is Load for a profile that may name no key: then that of the first
// of these environment variables is used. If there is none, and the profile has
// no address of its own, the error is of kind Auth.
func (s *LLMs) LoadWithKey(ctx context.Context, name string, variables []string) (*spec.LLM, error) {
	p, err := s.Profile(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.LLM.APIKey, err = p.key(s.env, variables); err != nil {
		return nil, err
	}
	return p.LLM, p.LLM.Resolve(s.connections.Find(ctx), name)
}

// Stored returns a profile's LLM as it is stored, without its connection.
func (s *LLMs) Stored(ctx context.Context, name string) (*spec.LLM, error) {
	p, err := s.Profile(ctx, name)
	return p.LLM, err
}

// Profile returns a profile as it is stored, with its secrets opened.
func (s *LLMs) Profile(ctx context.Context, name string) (Profile, error) {
	return locked(ctx, s.folder, func() (Profile, error) { return s.profile(name) })
}

func (s *LLMs) profile(name string) (p Profile, err error) {
	m, err := s.existing(name)
	if err != nil {
		return p, err
	}
	if err := filestore.CheckVersion(m, "LLM profile", llmVersion); err != nil {
		return p, s.unreadable(name, err)
	}
	spec.CanonicalizeLLM(m)
	doc, err := spec.LLMSchema.Check(m, schema.Reading{Keys: s.keys})
	if err != nil {
		return p, s.unreadable(name, err)
	}
	p.KeyEnv, p.KeyFile = m.Text("api_key_env"), m.Text("api_key_file")
	p.LLM, err = spec.LLMFrom(doc)
	return p, err
}

// Save writes a profile's LLM. Without secrets, its keys are left out. An LLM
// with a provider connection is stored without a key or an address of its own.
// What the reference does not have stays as it was in a profile of that name,
// unless l has it; a key of l takes the place of another one. A new profile beyond [Limit] is a Conflict.
func (s *LLMs) Save(ctx context.Context, name string, l *spec.LLM, secrets bool) error {
	return s.change(ctx, name, secrets, func(old Profile) (Profile, error) {
		next := Profile{LLM: l, KeyEnv: old.KeyEnv, KeyFile: old.KeyFile}
		if l.Deft == nil && old.LLM != nil {
			c := *l
			c.Deft = old.LLM.Deft
			next.LLM = &c
		}
		if secrets && l.HasKey() {
			next.KeyEnv, next.KeyFile = "", ""
		}
		return next, nil
	})
}

// SaveProfile writes a profile that makes sense (see [Profile.Check]), with its
// secrets.
func (s *LLMs) SaveProfile(ctx context.Context, name string, p Profile) error {
	if err := p.Check(); err != nil {
		return err
	}
	return s.change(ctx, name, true, func(Profile) (Profile, error) { return p, nil })
}

// change writes what f makes of a profile; one that is missing or cannot be
// read is empty.
func (s *LLMs) change(ctx context.Context, name string, secrets bool, f func(old Profile) (Profile, error)) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	unlock, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := s.profile(name)
	if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
		return err
	}
	next, err := f(old)
	if err != nil {
		return err
	}
	doc, err := s.persisted(next.LLM, secrets)
	if err != nil {
		return err
	}
	next.addKey(doc)
	if err := s.checkLimit(path); err != nil {
		return err
	}
	return filestore.WriteDocument(path, doc)
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
	out, defaults := schema.NewMap(), spec.LLMSchema.Defaults()
	for _, k := range doc.Keys() {
		if v := doc.Get(k); v != nil || defaults.Get(k) != nil { // null where that is not the default
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
	return locked(ctx, s.folder, func() ([]string, error) { return s.names() })
}

// List returns all profiles. Files that cannot be read are skipped.
// Provider connections are read only if a profile has one.
func (s *LLMs) List(ctx context.Context) ([]Summary, error) {
	out, linked, err := s.list(ctx)
	if err != nil || !linked {
		return out, err
	}
	shared, err := s.connections.list(ctx, schema.Reading{})
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
	unlock, err := s.acquire(ctx)
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
		one.APIKeySet = one.APIKeySet || m.Text("api_key_env") != "" || m.Text("api_key_file") != ""
		linked = linked || one.ConnectionID != nil
		out = append(out, one)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return out, linked, nil
}

// rename gives a profile another name, also where other profiles name it. The
// lock must be held.
func (s *LLMs) rename(from, to string) error {
	old, next, same, err := s.renamePaths(from, to)
	if err != nil || same {
		return err
	}
	if err := os.Rename(old, next); err != nil {
		return err
	}
	if err := filestore.Sync(filepath.Dir(next)); err != nil {
		return err
	}
	from, to = Canonical(from), Canonical(to)
	return s.each(func(name string, m *schema.Map) error {
		used := m.Object("deft")
		if used == nil {
			return nil
		}
		used, changed := used.Copy(), false
		if changed = used.Text("vision") == from; changed {
			used.Set("vision", to)
		}
		if list, _ := used.Get("fallback").([]any); slices.Contains(list, any(from)) {
			list = slices.Clone(list)
			list[slices.Index(list, any(from))] = to
			used.Set("fallback", list)
			changed = true
		}
		if !changed {
			return nil
		}
		path, err := s.path(name)
		if err != nil {
			return err
		}
		m.Set("deft", used)
		return filestore.WriteDocument(path, m)
	})
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
