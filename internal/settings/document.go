package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/schema"
)

// version is the schema version of the file of settings.
const version = 6

const (
	settingsFile = "settings.json"
	settingsLock = ".settings.lock"
	secretsFile  = "secrets.json"
	secretsLock  = ".secrets.lock"
)

// Document is everything in the file of settings. Secrets are in the clear. Its
// parts may be shared: callers change copies.
type Document struct {
	Agent        *schema.Map // as package agentsettings has it
	Conversation *schema.Map
	// ActiveProfile names the LLM profile that was activated last, nil for
	// none; ActiveAgentProfile is the id of the active agent profile.
	ActiveProfile      *string
	ActiveAgentProfile *string
	ActiveMetaProfile  *string
	// Misc belongs to the user interface; it is kept and not interpreted.
	Misc *schema.Map
}

// ACP reports whether the agent is another program's.
func (d *Document) ACP() bool { return d.Agent.Text("agent_kind") == "acp" }

// HasKey reports whether the agent's LLM has a key.
func (d *Document) HasKey() bool {
	return !d.ACP() && d.Agent.Object("llm").Text("api_key") != ""
}

// ErrBlocked says that the file of settings must not be written over.
var ErrBlocked error = fault.New(fault.Conflict, "Settings file is corrupted or encrypted with a different key: "+
	"restore that key as OH_SECRET_KEY or add it to OH_PREVIOUS_SECRET_KEYS")

// fresh returns the default settings.
func fresh() (*Document, error) {
	agent, err := agentsettings.Validate(schema.NewMap(), schema.Reading{}, agentsettings.Requested)
	if err != nil {
		return nil, err
	}
	return &Document{Agent: agent, Conversation: agentsettings.Conversation.Defaults(), Misc: schema.NewMap()}, nil
}

// Load returns the settings; those that cannot be read are as if nothing had
// been set. A secret that no key opens is left out.
func (s *Service) Load() (*Document, error) {
	doc, err := s.read(false)
	if errors.Is(err, errUnreadable) {
		s.o.Log.Error("settings cannot be read", "error", err)
		return fresh()
	}
	if doc == nil && err == nil {
		return fresh()
	}
	return doc, err
}

// errUnreadable is the error of a file that exists and cannot be used.
var errUnreadable = errors.New("the file cannot be read")

// read returns what is stored, nil where nothing is. Strict refuses secrets
// that no key opens.
func (s *Service) read(strict bool) (*Document, error) {
	raw, err := filestore.Read(s.path(settingsFile))
	if err != nil || raw == nil {
		return nil, err
	}
	if doc := s.last.get(raw); doc != nil && !strict {
		return doc, nil
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	m, ok := v.(*schema.Map)
	if !ok {
		return nil, fmt.Errorf("%w: it is no JSON object", errUnreadable)
	}
	doc, err := parseDocument(m, schema.Reading{Keys: s.keys, Strict: strict})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if !strict {
		s.last.put(raw, doc)
	}
	return doc, nil
}

// recent caches the document of a file's content: every start of a conversation
// reads the same settings.
type recent struct {
	mu  sync.Mutex
	raw []byte
	doc Document
}

// get returns the document of a content, nil if it is another one. Callers may
// replace its parts but not change them.
func (c *recent) get(raw []byte) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil || !bytes.Equal(c.raw, raw) {
		return nil
	}
	doc := c.doc
	return &doc
}

func (c *recent) put(raw []byte, doc *Document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.doc = raw, *doc
}

var pointerSchema = &schema.Object{Fields: []schema.Field{
	{Name: "schema_version", Type: schema.Opt(schema.Int{}), Default: schema.Count(0)},
	{Name: "active_profile", Type: schema.Opt(schema.String{})},
	{Name: "active_agent_profile_id", Type: schema.Opt(schema.String{})},
	{Name: "active_meta_profile", Type: schema.Opt(schema.String{})},
	{Name: "misc_settings", Type: schema.Dict{Of: schema.Any{}}, Default: func() any { return schema.NewMap() }},
}}

func parseDocument(m *schema.Map, how schema.Reading) (*Document, error) {
	rest, err := pointerSchema.Check(m, schema.Reading{})
	if err != nil {
		return nil, err
	}
	if v, ok := rest.Get("schema_version").(json.Number); ok {
		if n, err := v.Int64(); err != nil || n > version {
			return nil, fmt.Errorf("PersistedSettings schema_version %v is newer than supported version %d", v, version)
		}
	}
	doc, err := fresh()
	if err != nil {
		return nil, err
	}
	if v, ok := m.Lookup("agent_settings"); ok {
		if doc.Agent, err = agentsettings.Validate(v, how, agentsettings.Stored); err != nil {
			return nil, err
		}
	}
	if v, ok := m.Lookup("conversation_settings"); ok {
		if doc.Conversation, err = agentsettings.ValidateConversation(v); err != nil {
			return nil, err
		}
	}
	doc.ActiveProfile, doc.ActiveAgentProfile = rest.Pointer("active_profile"), rest.Pointer("active_agent_profile_id")
	doc.ActiveMetaProfile, doc.Misc = rest.Pointer("active_meta_profile"), rest.Object("misc_settings")
	return doc, nil
}

func nullable(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// Change reads the settings, lets f change them, and writes them. Nothing is
// written if f fails, or if what is stored cannot be read (Conflict).
func (s *Service) Change(ctx context.Context, f func(*Document) error) (*Document, error) {
	unlock, err := filestore.Lock(ctx, s.path(settingsLock))
	if err != nil {
		return nil, err
	}
	defer unlock()
	doc, err := s.read(true)
	switch {
	case errors.Is(err, errUnreadable):
		s.o.Log.Error("settings were not changed", "error", err)
		return nil, ErrBlocked
	case err != nil:
		return nil, fmt.Errorf("read settings: %w", err)
	case doc == nil:
		if doc, err = fresh(); err != nil {
			return nil, err
		}
	}
	if err := f(doc); err != nil {
		return nil, err
	}
	if err := s.write(doc); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	if s.o.Changed != nil {
		s.o.Changed(doc)
	}
	return doc, nil
}

func (s *Service) write(doc *Document) error {
	m, err := doc.Dump(schema.Storing(s.keys))
	if err != nil {
		return err
	}
	m.Set("schema_version", schema.Count(version))
	return filestore.WriteDocument(s.path(settingsFile), m)
}

// Dump returns the settings as they may leave the process.
func (d *Document) Dump(how schema.Writing) (*schema.Map, error) {
	agent, err := agentsettings.Dump(d.Agent, how)
	if err != nil {
		return nil, err
	}
	return schema.Of(
		"agent_settings", agent, "conversation_settings", d.Conversation,
		"active_profile", nullable(d.ActiveProfile), "active_agent_profile_id", nullable(d.ActiveAgentProfile),
		"active_meta_profile", nullable(d.ActiveMetaProfile), "misc_settings", d.Misc,
	), nil
}
