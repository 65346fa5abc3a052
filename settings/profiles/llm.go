package profiles

import (
	"context"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/spec"
)

// llmVersion is the schema version of LLM profiles.
const llmVersion = 1

// maxLLMFile is how long the file of an LLM profile may be, in bytes.
const maxLLMFile = 64 << 10

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
// spec.DanglingError, a key that cannot be read an error of kind Auth, and a stored
// secret that no key opens schema.ErrSealed.
func (s *LLMs) Load(ctx context.Context, name string) (*spec.LLM, error) {
	return s.LoadWithKey(ctx, name, nil)
}

// LoadWithKey is Load for a profile that may name no key: then the first of these
// environment variables gives it. If there is none, and the profile has no address
// of its own, the error is of kind Auth.
func (s *LLMs) LoadWithKey(ctx context.Context, name string, variables []string) (*spec.LLM, error) {
	p, err := s.opened(ctx, name)
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

// Opened is Stored, or schema.ErrSealed if no key opens one of the profile's secrets.
func (s *LLMs) Opened(ctx context.Context, name string) (*spec.LLM, error) {
	p, err := s.opened(ctx, name)
	return p.LLM, err
}

// Profile returns a profile as it is stored, with its secrets opened, without those
// that no key opens.
func (s *LLMs) Profile(ctx context.Context, name string) (Profile, error) {
	return locked(ctx, s.folder, func() (Profile, error) { return s.profile(name, false) })
}

// opened is Profile, or schema.ErrSealed if no key opens one of its secrets.
func (s *LLMs) opened(ctx context.Context, name string) (Profile, error) {
	return locked(ctx, s.folder, func() (Profile, error) { return s.profile(name, true) })
}

func (s *LLMs) profile(name string, strict bool) (Profile, error) {
	return load(s.folder, name, func(m *schema.Map) (p Profile, err error) {
		if err := filestore.CheckVersion(m, "LLM profile", llmVersion); err != nil {
			return p, err
		}
		s.warn(name, m)
		spec.CanonicalizeLLM(m)
		doc, err := spec.LLMSchema.Check(m, schema.Reading{Keys: s.keys, Strict: strict})
		if err != nil {
			return p, err
		}
		p.KeyEnv, p.KeyFile = m.Text(keyEnv), m.Text(keyFile)
		p.LLM, err = spec.LLMFrom(doc)
		return p, err
	})
}

// warn logs the fields of a profile that have no meaning. They are no error,
// because the reference ignores them too and newer versions of it may write them.
func (s *LLMs) warn(name string, m *schema.Map) {
	var unknown []string
	for _, k := range m.Keys() {
		if spec.LLMSchema.Field(k) == nil && !slices.Contains([]string{keyEnv, keyFile, "schema_version"}, k) {
			unknown = append(unknown, k)
		}
	}
	if unknown != nil {
		s.log.Warn("an LLM profile has fields without a meaning", "name", name, "fields", unknown)
	}
}

// Save writes a profile's LLM. Without secrets, its keys are left out. An LLM with
// a provider connection is stored without a key or an address of its own. Fields
// that the reference does not have keep their values in a profile of that name,
// unless l has them; a key of l takes the place of another one. A new profile
// beyond [Limit] is a Conflict.
func (s *LLMs) Save(ctx context.Context, name string, l *spec.LLM, secrets bool) error {
	return s.locked(ctx, func() error {
		old, err := s.profile(name, false)
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) { // a damaged file is replaced
			return err
		}
		next := Profile{LLM: l, KeyEnv: old.KeyEnv, KeyFile: old.KeyFile}
		if l.Deft == nil && old.LLM != nil {
			c := *l
			c.Deft = old.LLM.Deft
			next.LLM = &c
		}
		if secrets && l.HasKey() {
			next.KeyEnv, next.KeyFile = "", ""
		}
		return s.save(name, next, secrets)
	})
}

// SaveProfile writes a profile that makes sense (see [Profile.Check]), with its
// secrets.
func (s *LLMs) SaveProfile(ctx context.Context, name string, p Profile) error {
	if err := p.Check(); err != nil {
		return err
	}
	return s.locked(ctx, func() error { return s.save(name, p, true) })
}

func (s *LLMs) save(name string, p Profile, secrets bool) error {
	if slices.Contains(p.LLM.Profiles(), Canonical(name)) {
		return fault.New(fault.Invalid, "the profile "+name+" cannot stand in for itself")
	}
	doc, err := s.persisted(p.LLM, secrets)
	if err != nil {
		return err
	}
	p.addKey(doc)
	return s.write(name, doc)
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
func (s *LLMs) Names(ctx context.Context) ([]string, error) { return locked(ctx, s.folder, s.names) }

// List returns all profiles. Files that cannot be read are skipped.
// Provider connections are read only if a profile has one.
func (s *LLMs) List(ctx context.Context) ([]Summary, error) {
	out, err := locked(ctx, s.folder, func() ([]Summary, error) { return list(s.folder, summary) })
	if err != nil || !slices.ContainsFunc(out, func(one Summary) bool { return one.ConnectionID != nil }) {
		return out, err
	}
	shared, err := s.connections.list(ctx, schema.Reading{}) // whether there is a key does not need it open
	if err != nil {
		return nil, err
	}
	for i := range out {
		one := &out[i]
		if one.ConnectionID == nil {
			continue
		}
		at, err := indexOf(shared, *one.ConnectionID)
		one.ConnectionBroken = err != nil
		one.APIKeySet = one.APIKeySet || err == nil && shared[at].APIKey != ""
	}
	return out, nil
}

// summary is a profile without its connection's fields.
func summary(name string, m *schema.Map) Summary {
	spec.CanonicalizeLLM(m)
	key := m.Text("api_key")
	return Summary{
		Name: name, Model: m.Pointer("model"), BaseURL: m.Pointer("base_url"), ConnectionID: m.Pointer("provider_connection_id"),
		APIKeySet: strings.TrimSpace(key) != "" && key != schema.Mask || m.Text(keyEnv) != "" || m.Text(keyFile) != "",
	}
}

// renameUses gives a profile another name where other LLM profiles use it. The
// lock must be held.
func (s *LLMs) renameUses(from, to string) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		m, err := s.read(name)
		used := m.Object("deft")
		if err != nil || used == nil { // a damaged profile cannot use any
			continue
		}
		list, _ := used.Get("fallback").([]any)
		at := slices.Index(list, any(from))
		if at < 0 && used.Text("vision") != from {
			continue
		}
		if at >= 0 {
			list[at] = to
		}
		if used.Text("vision") == from {
			used.Set("vision", to)
		}
		if err := s.write(name, m); err != nil {
			return err
		}
	}
	return nil
}
