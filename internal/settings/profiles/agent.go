package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/schema"
)

// Agents are the saved agent profiles.
type Agents struct {
	folder
}

// AgentSummary is an agent profile in a list. Its fields are as they are stored,
// so that a list shows broken profiles as well.
type AgentSummary struct {
	ID         *string         `json:"id"`
	Name       string          `json:"name"`
	Kind       string          `json:"agent_kind"`
	Revision   *int            `json:"revision"`
	LLM        *string         `json:"llm_profile_ref"`
	MCPServers json.RawMessage `json:"mcp_server_refs"`
}

// Load returns a profile's document, in its normal form.
func (s *Agents) Load(ctx context.Context, name string) (*schema.Map, error) {
	return locked(ctx, s.folder, func() (*schema.Map, error) { return s.load(name) })
}

func (s *Agents) load(name string) (*schema.Map, error) {
	m, err := s.existing(name)
	if err != nil {
		return nil, err
	}
	out, err := ValidateAgent(m)
	if err != nil {
		return nil, s.unreadable(name, err)
	}
	return out, nil
}

// Save writes a checked profile under its name. The store sets its id:
// a profile of that name keeps its id and has its revision raised, a new one
// gets another.
func (s *Agents) Save(ctx context.Context, doc *schema.Map) error {
	unlock, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.save(doc)
	return err
}

func (s *Agents) save(doc *schema.Map) (*schema.Map, error) {
	name := Canonical(doc.Text("name"))
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	if err := s.checkLimit(path); err != nil {
		return nil, err
	}
	doc = doc.Copy()
	doc.Set("name", name)
	doc.Set("id", uuid.NewString())
	if old, err := s.read(name); err == nil && old != nil {
		if id, err := uuid.Parse(old.Text("id")); err == nil {
			doc.Set("id", id.String())
			doc.Set("revision", schema.Count(revision(old)+1))
		}
	}
	return doc, filestore.WriteDocument(path, doc)
}

func revision(m *schema.Map) int {
	n, ok := m.Get("revision").(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(i)
}

// Delete removes a profile; a missing one is no error.
func (s *Agents) Delete(ctx context.Context, name string) error {
	return s.locked(ctx, func() error { return s.remove(name) })
}

// Rename gives a profile another name; its id stays.
func (s *Agents) Rename(ctx context.Context, from, to string) error {
	unlock, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, next, same, err := s.renamePaths(from, to)
	if err != nil || same {
		return err
	}
	m, err := s.read(from)
	if err != nil {
		return err
	}
	m.Set("name", Canonical(to))
	if err := filestore.WriteDocument(next, m); err != nil {
		return err
	}
	if err := os.Remove(old); err != nil {
		return err
	}
	return filestore.Sync(filepath.Dir(old))
}

// List returns all profiles. Files that cannot be read are skipped.
func (s *Agents) List(ctx context.Context) ([]AgentSummary, error) {
	return locked(ctx, s.folder, func() ([]AgentSummary, error) { return s.list() })
}

func (s *Agents) list() ([]AgentSummary, error) {
	out := []AgentSummary{}
	err := s.each(func(name string, m *schema.Map) (err error) {
		one := AgentSummary{ID: m.Pointer("id"), Name: name, Kind: "openhands", MCPServers: json.RawMessage("null")}
		if kind := m.Text("agent_kind"); kind != "" {
			one.Kind = kind
		}
		if one.Kind == "openhands" {
			one.LLM = m.Pointer("llm_profile_ref")
		}
		if _, ok := m.Get("revision").(json.Number); ok {
			n := revision(m)
			one.Revision = &n
		}
		if refs, ok := m.Get("mcp_server_refs").([]any); ok {
			one.MCPServers, err = schema.Encode(refs)
		}
		out = append(out, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// NameOf returns the name of the profile with an id, NotFound where there is
// none.
func (s *Agents) NameOf(ctx context.Context, id string) (string, error) {
	return locked(ctx, s.folder, func() (string, error) { return s.nameOf(id) })
}

func (s *Agents) nameOf(id string) (string, error) {
	list, err := s.list()
	if err != nil {
		return "", err
	}
	for _, one := range list {
		if one.ID != nil && *one.ID == id {
			return one.Name, nil
		}
	}
	return "", fault.New(fault.NotFound, fmt.Sprintf("Agent profile with id '%s' not found", id))
}

// ByID returns the profile with an id.
func (s *Agents) ByID(ctx context.Context, id string) (*schema.Map, error) {
	unlock, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	name, err := s.nameOf(id)
	if err != nil {
		return nil, err
	}
	return s.load(name)
}

// Seed is the name of the profile that is made where there is none.
const Seed = "default"

// Ensure returns the id of a profile that is to be active: active, if there is
// such a profile; else that of the default one, which seed makes where it is
// not there; else that of the first other. "" says that there is none.
func (s *Agents) Ensure(ctx context.Context, active string, seed func() (*schema.Map, error)) (string, error) {
	unlock, err := s.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if active != "" {
		if _, err := s.nameOf(active); err == nil {
			return active, nil
		} else if !fault.Is(err, fault.NotFound) {
			return "", err
		}
	}
	doc, err := s.load(Seed)
	if fault.Is(err, fault.NotFound) {
		var fresh *schema.Map
		if fresh, err = seed(); err != nil {
			return "", err
		}
		doc, err = s.save(fresh)
	}
	switch {
	case err == nil:
		return doc.Text("id"), nil
	case !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid):
		return "", err
	}
	s.log.Warn("the default agent profile cannot be used", "error", err)
	list, err := s.list()
	for _, one := range list {
		if one.ID != nil && one.Name != Seed {
			return *one.ID, nil
		}
	}
	return "", err
}
