package conversations

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Local lets conversations of the local owner work in directories of this machine.
type Local struct {
	// Rules say which directories are refused, and where the owner's home is.
	Rules workspacedir.Rules
	// Started is the directory in which the server was started.
	Started string
	// Worktrees is the directory of Git worktrees that Deft makes, which are not offered.
	Worktrees string
	// Class is the built-in class of sandboxes.
	Class sandbox.Class
}

// Directory is a directory in which a conversation can work.
type Directory struct {
	Path string `json:"path"`
	// Git says that a Git worktree of it can be made.
	Git bool `json:"git"`
}

// Directories are the directories of this machine that are offered to an owner.
type Directories struct {
	// Refused says why there can be none; empty if there can.
	Refused string `json:"refused"`
	// Proposed is the project in which the server was started.
	Proposed *Directory  `json:"proposed"`
	Recent   []Directory `json:"recent"` // the last used first
}

// Bounds of recent directories, and of the conversations that are looked at for them.
const (
	mostRecent   = 8
	mostLookedAt = 300
)

// ErrNoDirectories refuses a directory of this machine.
var ErrNoDirectories = fault.New(fault.Denied, "this server works in no directories of its machine: that takes the built-in sandbox, the address 127.0.0.1, data on this machine, and its local owner").
	Hint("name a repository, or use deft run")

// local returns what an owner may do with directories of this machine; nil for nothing.
func (s *Service) local(owner identity.Tenant) *Local {
	if owner != identity.LocalTenant {
		return nil
	}
	return s.o.Local
}

// check returns the real path of an existing directory, which may begin with ~.
func (l *Local) check(dir string) (string, error) {
	dir = strings.TrimSpace(dir)
	if rest, ok := strings.CutPrefix(dir, "~"); ok && l.Rules.Home != "" && (rest == "" || rest[0] == '/') {
		dir = l.Rules.Home + rest
	}
	if !filepath.IsAbs(dir) {
		return "", fault.New(fault.Invalid, "the directory must be an absolute path, or begin with ~/: "+dir)
	}
	return l.Rules.Existing(dir)
}

// inData reports whether a directory lies in Deft's own data, as the workspaces of sandboxes do.
func (l *Local) inData(dir string) bool {
	return slices.ContainsFunc(l.Rules.Data, func(data string) bool { return workspacedir.Within(dir, data) })
}

// checkDirectory checks the directory of a start request.
func (s *Service) checkDirectory(ctx context.Context, owner identity.Tenant, r *Start) error {
	if r.Directory == "" {
		if r.Worktree {
			return fault.New(fault.Invalid, "worktree goes with a directory").Hint("name the directory, too")
		}
		return nil
	}
	l := s.local(owner)
	if l == nil {
		return ErrNoDirectories
	}
	if r.Repository != "" || r.SandboxID != "" {
		return fault.New(fault.Invalid, "a directory of this machine excludes a repository and a sandbox").Hint("leave them out")
	}
	var err error
	if r.Directory, err = l.check(r.Directory); err != nil {
		return err
	}
	if r.Worktree && !worktree.Possible(ctx, r.Directory) {
		return fault.New(fault.Invalid, r.Directory+" is in no Git repository with a commit, so it can have no worktree").Hint("work in the directory itself")
	}
	return nil
}

// placeLocal makes the sandbox of a task around its directory.
func (s *Service) placeLocal(ctx context.Context, owner identity.Tenant, t *store.Task, dir string) (store.Sandbox, error) {
	l := s.local(owner)
	if l == nil {
		return store.Sandbox{}, ErrNoDirectories
	}
	dir, err := l.check(dir)
	if err != nil {
		return store.Sandbox{}, err
	}
	return s.o.Sandboxes.AddLocal(ctx, owner, t.Conversation.Hex(), dir)
}

// settleWorktree has the sandbox of a conversation be around the worktree that was made for it.
func (s *Service) settleWorktree(ctx context.Context, owner identity.Tenant, in store.Sandbox, c *session.Conversation) error {
	return s.o.Store.MoveSandbox(ctx, string(owner), in.ID, c.Workspace())
}

// Directories returns what is offered to an owner.
func (s *Service) Directories(ctx context.Context, owner identity.Tenant) (Directories, error) {
	out := Directories{Recent: []Directory{}}
	l := s.local(owner)
	if l == nil {
		out.Refused = ErrNoDirectories.Error()
		return out, nil
	}
	seen := map[string]bool{}
	add := func(dir string) *Directory {
		real, err := l.check(dir)
		if err != nil || real != dir || seen[real] || workspacedir.Within(real, l.Worktrees) {
			return nil
		}
		seen[real] = true
		return &Directory{Path: real, Git: worktree.InRepository(real)}
	}
	if worktree.InRepository(l.Started) {
		out.Proposed = add(l.Started)
	}
	page, err := s.Scope(owner).Infos(ctx, eventstream.ListQuery{Limit: mostLookedAt, WithoutParent: true, Damaged: s.damaged})
	for _, i := range page.Infos {
		if d := add(i.Meta.WorkingDir); d != nil && len(out.Recent) < mostRecent {
			out.Recent = append(out.Recent, *d)
		}
	}
	return out, err
}

// directoryOf is the directory of this machine in which a conversation works, or can go on
// that another program of Deft has made; "" for all others.
func (s *Service) directoryOf(owner identity.Tenant, i *Info) string {
	l := s.local(owner)
	switch {
	case l == nil:
		return ""
	case i.In != nil && sandboxes.Local(*i.In):
		return i.In.Directory
	case i.Conversation.Sandbox == "" && len(i.Meta.Summary) > 0 && i.Meta.Parent == "" && i.Meta.WorkingDir != "" && !l.inData(i.Meta.WorkingDir):
		return i.Meta.WorkingDir
	}
	return ""
}

// adopt makes a sandbox around the directory of a conversation that `deft run` has made, or
// makes it again. It does nothing for conversations elsewhere.
func (s *Service) adopt(ctx context.Context, owner identity.Tenant, c *session.Conversation, info *Info) error {
	l := s.local(owner)
	if l == nil || l.inData(c.Workspace()) {
		return nil
	}
	if p := c.Placement(); p.SandboxClass != "" && (p.SandboxClass != l.Class.Name || l.Class.Open(p.Isolation)) {
		return fault.New(fault.Unsupported, "the conversation does not work in the built-in sandbox, and goes on in the terminal only").
			Hint("deft run --resume " + string(c.ID()))
	}
	dir, err := l.check(c.Workspace())
	if err != nil {
		return err
	}
	b, err := s.o.Sandboxes.AddLocal(ctx, owner, c.ID().Hex(), dir)
	if err != nil {
		return err
	}
	for _, id := range append([]event.ConversationID{c.ID()}, info.Subs...) {
		if err := s.o.Store.ChangeConversation(ctx, string(owner), id, func(row *store.Conversation) {
			if row.Created.IsZero() {
				row.AgentType, row.Created = "default", info.Info.Created
			}
			row.Sandbox = b.ID
		}); err != nil {
			return err
		}
	}
	return nil
}

// wasLocal reports whether a sandbox that was deleted was around the directory of a conversation.
func (s *Service) wasLocal(c *session.Conversation) bool {
	inside, err := c.WorkspaceInside()
	return s.o.Local != nil && err == nil && !inside && !s.o.Local.inData(c.Workspace()) && isThere(store.Sandbox{Directory: c.Workspace()}) == nil
}

// isThere refuses a conversation whose directory is gone: no other files take their place.
func isThere(b store.Sandbox) error {
	if _, err := os.Stat(b.Directory); err != nil {
		return fault.New(fault.Conflict, "the directory "+b.Directory+" of the conversation is gone").Hint("bring it back, or start another conversation")
	}
	return nil
}
