package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/settings/filestore"
)

const assignmentsVersion = 1

// Assignments say which LLM profile each service and each class of agents uses.
// The service "agent" serves agents whose class has none of its own.
type Assignments struct {
	Services map[string]string `json:"services,omitempty"`
	Agents   map[string]string `json:"agents,omitempty"`
}

// Agent returns the LLM profile of a class of agents, "" for none.
func (a Assignments) Agent(class string) string {
	if profile := a.Agents[class]; profile != "" {
		return profile
	}
	return a.Services["agent"]
}

// users returns the users of a profile, as messages call them, sorted.
func (a Assignments) users(profile string) (out []string) {
	for kind, all := range map[string]map[string]string{"the service ": a.Services, "the agent ": a.Agents} {
		for name, used := range all {
			if used == profile {
				out = append(out, kind+name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func assignmentsPath(dir string) string { return filepath.Join(dir, "llm-assignments.json") }

// ReadAssignments returns the assignments of a persistence directory, of this machine if
// files is nil; there are
// none if it does not exist. A damaged file is an error of kind Invalid, one of
// another version Unsupported.
func ReadAssignments(files filestore.Files, dir string) (a Assignments, err error) {
	path := assignmentsPath(dir)
	raw, err := filestore.OnDisk(files).Read(path)
	if err != nil {
		return a, fault.Wrap(err, fault.Denied, "read which LLM profile is used where")
	}
	if raw == nil {
		return a, nil
	}
	var file struct {
		SchemaVersion int `json:"schema_version"`
		Assignments
	}
	switch err := json.Unmarshal(raw, &file); {
	case err != nil:
		return a, fault.New(fault.Invalid, path+" is damaged").Because(err).Hint("delete it, and choose the profiles again")
	case file.SchemaVersion != assignmentsVersion:
		return a, fault.New(fault.Unsupported, path+" was written by another version of Deft").Hint("delete it, and choose the profiles again")
	}
	return file.Assignments, nil
}

// Assignments returns the assignments; see [ReadAssignments].
func (s *Stores) Assignments() (Assignments, error) { return ReadAssignments(s.files, s.dir) }

// Assign sets the LLM profile of a service or, if agent is true, of a class of
// agents; "" removes it. An unknown profile is NotFound.
func (s *Stores) Assign(ctx context.Context, name string, agent bool, profile string) error {
	return s.LLMs.locked(ctx, func() error {
		if profile != "" {
			if _, err := s.LLMs.existing(profile); err != nil {
				return err
			}
		}
		return s.reassign(func(a *Assignments) {
			all := a.Services
			if agent {
				all = a.Agents
			}
			if all[name] = profile; profile == "" {
				delete(all, name)
			}
		})
	})
}

// renameAssigned changes the name of an LLM profile wherever it is assigned. The
// lock of LLM profiles must be held.
func (s *Stores) renameAssigned(from, to string) error {
	a, err := ReadAssignments(s.files, s.dir)
	if err != nil || len(a.users(from)) == 0 {
		return err
	}
	return s.reassign(func(a *Assignments) {
		for _, all := range []map[string]string{a.Services, a.Agents} {
			for name, profile := range all {
				if profile == from {
					all[name] = to
				}
			}
		}
	})
}

// reassign changes the assignments. The lock of LLM profiles must be held.
func (s *Stores) reassign(f func(*Assignments)) error {
	a, err := ReadAssignments(s.files, s.dir)
	if err != nil {
		return err
	}
	for _, all := range []*map[string]string{&a.Services, &a.Agents} {
		if *all == nil {
			*all = map[string]string{}
		}
	}
	f(&a)
	raw, err := json.MarshalIndent(struct {
		SchemaVersion int `json:"schema_version"`
		Assignments
	}{assignmentsVersion, a}, "", "  ")
	if err != nil {
		return err
	}
	return s.files.Write(assignmentsPath(s.dir), append(raw, '\n'))
}

// unused returns a Conflict if an LLM profile is assigned or another one names it.
func (s *Stores) unused(name string) error {
	a, err := ReadAssignments(s.files, s.dir)
	if err != nil {
		return err
	}
	if users := a.users(name); len(users) > 0 {
		return fault.New(fault.Conflict, "the profile "+name+" is in use by "+users[0]).Hint("assign another profile first")
	}
	names, err := s.LLMs.names()
	if err != nil {
		return err
	}
	for _, other := range names {
		p, err := s.LLMs.profile(other, false)
		if err == nil && other != name && slices.Contains(p.LLM.Profiles(), name) { // a damaged profile cannot use any
			return fault.New(fault.Conflict, fmt.Sprintf("the profile %s names %s", other, name)).Hint("change that one first")
		}
	}
	return nil
}
