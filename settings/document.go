package settings

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/filestore"
)

// version is the schema version of the file of settings.
const version = 6

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

var documentSchema = documentWith(agentsettings.Conversation)

func documentWith(conversation *schema.Object) *schema.Object {
	return &schema.Object{
		Before: func(m *schema.Map) error { return filestore.CheckVersion(m, "PersistedSettings", version) },
		Fields: []schema.Field{
			{Name: "agent_settings", Type: agentsettings.Settings, Default: agentsettings.Settings.Of["openhands"]},
			{Name: "conversation_settings", Type: conversation, Default: conversation},
			{Name: "active_profile", Type: schema.Opt(schema.String{})},
			{Name: "active_agent_profile_id", Type: schema.Opt(schema.String{})},
			{Name: "active_meta_profile", Type: schema.Opt(schema.String{})},
			{Name: "misc_settings", Type: schema.Dict{Of: schema.Any{}}, Default: func() any { return schema.NewMap() }},
			{Name: "schema_version", Type: schema.Any{}, Default: schema.Count(version)},
		},
	}
}

func documentOf(m *schema.Map) *Document {
	return &Document{
		Agent: m.Object("agent_settings"), Conversation: m.Object("conversation_settings"), Misc: m.Object("misc_settings"),
		ActiveProfile: m.Pointer("active_profile"), ActiveAgentProfile: m.Pointer("active_agent_profile_id"),
		ActiveMetaProfile: m.Pointer("active_meta_profile"),
	}
}

func (d *Document) fill(m *schema.Map) {
	m.Set("agent_settings", d.Agent)
	m.Set("conversation_settings", d.Conversation)
	m.Set("active_profile", nullable(d.ActiveProfile))
	m.Set("active_agent_profile_id", nullable(d.ActiveAgentProfile))
	m.Set("active_meta_profile", nullable(d.ActiveMetaProfile))
	m.Set("misc_settings", d.Misc)
}

func nullable(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// Dump returns the settings as they may leave the process.
func (d *Document) Dump(how schema.Writing) (*schema.Map, error) {
	m := schema.NewMap()
	d.fill(m)
	return documentSchema.Dump(m, how)
}

// ACP reports whether the agent is another program's.
func (d *Document) ACP() bool { return d.Agent.Text("agent_kind") == "acp" }

// HasKey reports whether the agent's LLM has a key.
func (d *Document) HasKey() bool {
	return !d.ACP() && d.Agent.Object("llm").Text("api_key") != ""
}

// ErrBlocked says that the file of settings must not be written over.
var ErrBlocked error = fault.New(fault.Conflict, "Settings file is corrupted, of another version, or encrypted with a different key "+
	"(the log says which): restore that key as OH_SECRET_KEY or add it to OH_PREVIOUS_SECRET_KEYS, or move the file away")

// Load returns the settings; those that cannot be read are as if nothing had
// been set. A secret that no key opens is left out.
func (s *Service) Load() (*Document, error) {
	m, err := s.readable(s.settings)
	if err != nil {
		return nil, err
	}
	return documentOf(m), nil
}

// readable returns a document for reading: the defaults, if it cannot be used.
func (s *Service) readable(d *filestore.Document) (*schema.Map, error) {
	m, err := d.Read()
	if errors.Is(err, filestore.ErrUnreadable) {
		s.o.Log.Error("a file cannot be read", "file", d.Path, "error", err)
		return d.Schema.Defaults(), nil
	}
	return m, err
}

// opens returns schema.ErrSealed if a part of a document, as it is stored, has a
// secret that no key opens.
func (s *Service) opens(d *filestore.Document, part ...string) error {
	m, err := d.ReadAs(schema.Reading{})
	if errors.Is(err, filestore.ErrUnreadable) { // which readable reports
		return nil
	}
	var v any = m
	for _, name := range part {
		object, _ := v.(*schema.Map)
		v = object.Get(name)
	}
	if err == nil && s.keys != nil && v != nil {
		_, err = schema.Renew(s.keys, v)
	}
	return err
}

// change is [filestore.Document.Change] with blocked for a file that cannot be
// used.
func (s *Service) change(ctx context.Context, d *filestore.Document, blocked error, f func(m *schema.Map) error) error {
	err := d.Change(ctx, f)
	if errors.Is(err, filestore.ErrUnreadable) {
		s.o.Log.Error("a file was not changed", "file", d.Path, "error", err)
		if d == s.secrets && errors.Is(err, schema.ErrSealed) {
			return schema.ErrSealed // it can be changed when the key is configured again
		}
		return blocked
	}
	return err
}

// Change reads the settings, lets f change them, and writes them. Nothing is
// written if f fails, or if the stored settings cannot be read ([ErrBlocked]).
func (s *Service) Change(ctx context.Context, f func(*Document) error) (*Document, error) {
	var doc *Document
	err := s.change(ctx, s.settings, ErrBlocked, func(m *schema.Map) error {
		doc = documentOf(m)
		if err := f(doc); err != nil {
			return err
		}
		doc.fill(m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return doc, nil
}
