package profiles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
)

// Options say where profiles are.
type Options struct {
	// Dir is the persistence directory; each kind has a folder below it.
	Dir string
	// Files have that directory; nil for this machine's.
	Files filestore.Files
	// Keys seal secrets; nil stores them in the clear.
	Keys schema.Keys
	Log  *slog.Logger
	Now  func() time.Time    // default time.Now
	Env  func(string) string // reads environment variables; default os.Getenv
}

// Stores are the stores of all kinds of profiles, and the rules between them.
type Stores struct {
	LLMs        *LLMs
	Agents      *Agents
	Metas       *Metas
	Connections *Connections

	files filestore.Files
	dir   string
	keys  schema.Keys
}

// Open returns the stores. Their directories are made when something is saved.
func Open(o Options) *Stores {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Files = filestore.OnDisk(o.Files)
	at := func(name, what, store string) folder {
		return folder{files: o.Files, dir: filepath.Join(o.Dir, name), lock: "." + name + ".lock", what: what, store: store, max: maxFile, log: o.Log}
	}
	llms := at("profiles", "Profile", "Profile store")
	llms.max = maxLLMFile
	shared := &Connections{now: o.Now, file: &filestore.Document{
		Path: filepath.Join(o.Dir, "provider-connections", "provider_connections.json"), Lock: ".provider-connections.lock",
		Schema: connectionsSchema, Keys: o.Keys, Files: o.Files,
	}}
	return &Stores{
		LLMs:        &LLMs{folder: llms, keys: o.Keys, connections: shared, env: o.Env},
		Agents:      &Agents{folder: at("agent-profiles", "Agent profile", "Profile store")},
		Metas:       &Metas{folder: at("meta-profiles", "Meta-profile", "Meta-profile store")},
		Connections: shared,
		files:       o.Files,
		dir:         o.Dir,
		keys:        o.Keys,
	}
}

// referrers returns the agent profiles that name an LLM profile. The lock of
// agent profiles must be held.
func (s *Stores) referrers(llm string) ([]string, error) {
	list, err := s.Agents.list()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range list {
		if one.LLM != nil && Canonical(*one.LLM) == Canonical(llm) {
			out = append(out, one.Name)
		}
	}
	return out, nil
}

// locked calls do while agent profiles and LLM profiles are locked.
func (s *Stores) locked(ctx context.Context, do func() error) error {
	return s.Agents.locked(ctx, func() error { return s.LLMs.locked(ctx, do) })
}

// DeleteLLM deletes an LLM profile. It is a Conflict while agent profiles or
// other LLM profiles name it, or while it is assigned to a service or a class
// of agents; a missing one is no error.
func (s *Stores) DeleteLLM(ctx context.Context, name string) error {
	return s.locked(ctx, func() error {
		names, err := s.referrers(name)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return fault.New(fault.Conflict, fmt.Sprintf("LLM profile is referenced by %d agent profile(s): %s", len(names), strings.Join(names, ", ")))
		}
		if err := s.unused(Canonical(name)); err != nil {
			return err
		}
		return s.LLMs.remove(name)
	})
}

// RenameLLM renames an LLM profile, also where agent profiles, other LLM
// profiles and assignments name it.
func (s *Stores) RenameLLM(ctx context.Context, from, to string) error {
	return s.locked(ctx, func() error {
		if err := s.LLMs.rename(from, to); err != nil {
			return err
		}
		from, to := Canonical(from), Canonical(to)
		if from == to {
			return nil
		}
		if err := s.LLMs.renameUses(from, to); err != nil {
			return err
		}
		if err := s.renameAssigned(from, to); err != nil {
			return err
		}
		names, err := s.referrers(from)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.Agents.set(name, "llm_profile_ref", to); err != nil {
				return fmt.Errorf("update agent profile %s: %w", name, err)
			}
		}
		return nil
	})
}

// Linked returns the LLM profiles that use a provider connection, sorted.
func (s *Stores) Linked(ctx context.Context, connection string) ([]string, error) {
	list, err := s.LLMs.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range list {
		if one.ConnectionID != nil && *one.ConnectionID == connection {
			out = append(out, one.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Renew seals secrets again that only an old key opens. It goes on after a
// failure and returns all of them.
func (s *Stores) Renew(ctx context.Context) error {
	if s.keys == nil {
		return nil
	}
	names, err := s.LLMs.names()
	for _, name := range names {
		err = errors.Join(err, filestore.Renew(ctx, s.files, filepath.Join(s.LLMs.dir, name+".json"), filepath.Join(s.LLMs.dir, s.LLMs.lock), s.keys))
	}
	return errors.Join(err, s.Connections.file.Renew(ctx))
}
