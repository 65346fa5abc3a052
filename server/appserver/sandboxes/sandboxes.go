// Package sandboxes is the Sandbox Service of the App Server: it places conversations
// on sandboxes, and pauses, resumes and deletes these. A sandbox is a workspace with a
// session key. The isolation of its conversations' actions is made when they work, by
// session/build, around that workspace.
//
// # Usage
//
//	s := sandboxes.New(sandboxes.Options{Store: store, Sessions: manager, Root: dir})
//	b, made, err := s.Place(ctx, owner, by)   // by the strategy, or a new one
//	scope := s.Scope(b)                       // what its session key may use
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. A sandbox of another owner does not exist for
// its callers (NotFound).
package sandboxes

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/objectstore"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Strategy says in which sandbox a conversation is placed that names none, in the
// contract's words (SandboxGroupingStrategy).
type Strategy string

// The strategies.
const (
	NoGrouping        Strategy = "NO_GROUPING" // a new one
	Newest            Strategy = "GROUP_BY_NEWEST"
	LeastRecentlyUsed Strategy = "LEAST_RECENTLY_USED"
	Fewest            Strategy = "FEWEST_CONVERSATIONS"
	Any               Strategy = "ADD_TO_ANY"
)

// Status is how a sandbox is, in the contract's words (SandboxStatus).
type Status string

// The states of sandboxes. One whose record is gone is Missing, and one whose workspace
// has vanished, from the disk or with the runtime that it was in, is Lost.
const (
	Running Status = "RUNNING"
	Paused  Status = "PAUSED"
	Missing Status = "MISSING"
	Lost    Status = "ERROR"
)

// The end of a Lost sandbox, where the workspace was on this machine, and where it was
// inside of the isolation.
const (
	lostFiles   = "the workspace has vanished from the server's disk: a conversation that is resumed gets a new one with the files of its last checkpoint"
	lostRuntime = "the runtime has vanished, and with it the workspace: a conversation that is resumed gets a new runtime, without the files that it had"
)

// ClientDirectory is where OpenHands' clients believe the workspace of a sandbox to
// be; ProjectDirectory is where its conversations work by default.
const (
	ClientDirectory  = "/workspace"
	ProjectDirectory = "project"
)

// Options configure a Service. All but Most are required.
type Options struct {
	Store    *store.Store
	Sessions *session.Manager
	// Stored returns the names of an owner's stored secrets, which conversations refer to by
	// addresses below SecretsURL.
	Stored     func(ctx context.Context, owner identity.Tenant) ([]string, error)
	SecretsURL string
	// Files has the archives of workspaces whose sandbox was deleted.
	Files objectstore.Store
	// Root is the directory of workspaces.
	Root string
	// Spec is the id of the specification of new sandboxes.
	Spec string
	// Most is how many sandboxes an owner may have; 0 for no limit.
	Most int
	// Isolation isolates conversations; nil where nothing does, or the workspaces are inside.
	Isolation Isolation
	// Vanished is set where workspaces are inside the isolation, not below Root. It
	// returns the conversations, of the given ones, whose workspaces are gone with it,
	// and when that was started.
	Vanished func(ctx context.Context, ids []event.ConversationID) (map[event.ConversationID]time.Time, error)
	Log      *slog.Logger
}

// Service is the Sandbox Service.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// StatusOf returns how a sandbox is. One of which that cannot be found out counts as there.
func (s *Service) StatusOf(ctx context.Context, b store.Sandbox) Status {
	switch {
	case s.lost(ctx, b):
		return Lost
	case b.Paused:
		return Paused
	}
	return Running
}

// lost reports whether the workspace of a sandbox has vanished.
func (s *Service) lost(ctx context.Context, b store.Sandbox) bool {
	if Local(b) {
		return gone(b.Directory)
	}
	if s.o.Vanished == nil {
		return vanished(b.Directory)
	}
	in, err := s.o.Store.InSandbox(ctx, b.ID)
	if err != nil || len(in) == 0 {
		return false
	}
	gone, err := s.o.Vanished(ctx, in)
	if err != nil {
		s.o.Log.Info("it is not known whether a sandbox is there", "sandbox", b.ID, "err", err)
	}
	for _, started := range gone {
		if started.After(b.Created) { // else it was one before, which was given up
			return true
		}
	}
	return false
}

// vanished reports whether a workspace is empty, without even the directory of the project.
// Other files that clients have put there are not to be lost with that directory.
func vanished(workspace string) bool {
	if _, err := os.Stat(filepath.Join(workspace, ProjectDirectory)); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	left, err := os.ReadDir(workspace)
	return len(left) == 0 && (err == nil || errors.Is(err, os.ErrNotExist))
}

// LostDetail describes the end of a Lost sandbox.
func (s *Service) LostDetail() string {
	if s.o.Vanished == nil {
		return lostFiles
	}
	return lostRuntime
}

// Create makes a sandbox. RateLimit for one too many.
func (s *Service) Create(ctx context.Context, owner identity.Tenant) (store.Sandbox, error) {
	return s.add(ctx, owner, event.NewConversationID().Hex())
}

// CreateOf makes a sandbox of a specification, NotFound if that does not exist, for a program
// that starts conversations there itself: the sandbox is given all secrets of its owner.
func (s *Service) CreateOf(ctx context.Context, owner identity.Tenant, spec string) (store.Sandbox, error) {
	if spec != "" && spec != s.o.Spec {
		return store.Sandbox{}, fault.New(fault.NotFound, "there is no sandbox specification "+spec)
	}
	b, err := s.Create(ctx, owner)
	if err != nil {
		return b, err
	}
	if err := s.GiveAll(ctx, owner, b.ID); err != nil {
		return store.Sandbox{}, errors.Join(err, s.Discard(ctx, b))
	}
	return b, nil
}

// add makes a sandbox with an id. Conflict if there is one, RateLimit for one too many.
func (s *Service) add(ctx context.Context, owner identity.Tenant, id string) (store.Sandbox, error) {
	b := s.fresh(owner, id, s.o.Spec, s.Workspace(id))
	if err := s.o.Store.AddSandbox(ctx, b, s.o.Most); err != nil {
		return store.Sandbox{}, err
	}
	if err := os.MkdirAll(filepath.Join(b.Directory, ProjectDirectory), 0o700); err != nil {
		return store.Sandbox{}, errors.Join(fault.Wrap(err, fault.Denied, "make the workspace of a sandbox"), s.o.Store.DeleteSandbox(ctx, string(owner), id))
	}
	return b, nil
}

// fresh describes a new sandbox.
func (s *Service) fresh(owner identity.Tenant, id, spec, dir string) store.Sandbox {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	now := time.Now()
	return store.Sandbox{
		ID: id, Owner: string(owner), Spec: spec, SessionKey: base64.RawURLEncoding.EncodeToString(secret[:]),
		Directory: dir, Created: now, Used: now,
	}
}

// Workspace is the directory of the sandbox with an id, also of one that was deleted.
func (s *Service) Workspace(id string) string { return filepath.Join(s.o.Root, id) }

// Revive makes a sandbox again that was deleted, with the workspace at the same place,
// empty. made is false if somebody else has done so.
func (s *Service) Revive(ctx context.Context, owner identity.Tenant, id string) (b store.Sandbox, made bool, err error) {
	if _, ok := event.ParseConversationID(id); !ok { // it becomes part of a path
		return b, false, fault.New(fault.Invalid, "a sandbox cannot be called "+id)
	}
	b, err = s.add(ctx, owner, id)
	if fault.Is(err, fault.Conflict) {
		b, err = s.Get(ctx, owner, id)
		return b, false, err
	}
	return b, err == nil, err
}

// Place returns the sandbox for a conversation that names none, and whether it was made for
// it.
func (s *Service) Place(ctx context.Context, owner identity.Tenant, by Strategy) (b store.Sandbox, made bool, err error) {
	if by != NoGrouping && by != "" {
		all, _, err := s.o.Store.Sandboxes(ctx, string(owner), "", most)
		if err != nil {
			return b, false, err
		}
		all = slices.DeleteFunc(all, func(b store.Sandbox) bool { return b.Paused || Local(b) })
		if len(all) > 0 {
			b, err = s.choose(ctx, all, by)
			return b, false, err
		}
	}
	b, err = s.Create(ctx, owner)
	return b, err == nil, err
}

// choose returns one of several sandboxes, of which the newest comes first.
func (s *Service) choose(ctx context.Context, all []store.Sandbox, by Strategy) (found store.Sandbox, err error) {
	switch by {
	case LeastRecentlyUsed:
		return slices.MinFunc(all, func(a, b store.Sandbox) int { return a.Used.Compare(b.Used) }), nil
	case Fewest:
		least := -1
		for _, b := range all {
			in, err := s.o.Store.InSandbox(ctx, b.ID)
			if err != nil {
				return store.Sandbox{}, err
			}
			if least < 0 || len(in) < least {
				least, found = len(in), b
			}
		}
		return found, nil
	default: // Newest, and Any takes the same
		return all[0], nil
	}
}

// most bounds how many sandboxes a strategy looks at.
const most = 100

// Get returns a sandbox.
func (s *Service) Get(ctx context.Context, owner identity.Tenant, id string) (store.Sandbox, error) {
	return s.o.Store.Sandbox(ctx, string(owner), id)
}

// List returns one page of an owner's sandboxes, the newest first.
func (s *Service) List(ctx context.Context, owner identity.Tenant, page string, limit int) (all []store.Sandbox, next string, err error) {
	return s.o.Store.Sandboxes(ctx, string(owner), page, limit)
}

// Conversations returns the conversations of a sandbox; none if there is no such one.
func (s *Service) Conversations(ctx context.Context, owner identity.Tenant, id string) ([]event.ConversationID, error) {
	if _, err := s.Get(ctx, owner, id); fault.Is(err, fault.NotFound) {
		return []event.ConversationID{}, nil
	} else if err != nil {
		return nil, err
	}
	in, err := s.o.Store.InSandbox(ctx, id)
	return append([]event.ConversationID{}, in...), err
}

// Pause interrupts the work of a sandbox's conversations and ends their processes.
// The workspace stays.
func (s *Service) Pause(ctx context.Context, owner identity.Tenant, id string) error {
	if err := s.o.Store.SetSandboxPaused(ctx, string(owner), id, true); err != nil {
		return err
	}
	return s.each(ctx, id, func(c event.ConversationID) error { return s.release(ctx, c) })
}

// Resume lets the conversations of a paused sandbox work again. Conflict if it is Lost.
func (s *Service) Resume(ctx context.Context, owner identity.Tenant, id string) error {
	b, err := s.Get(ctx, owner, id)
	if err != nil {
		return err
	}
	if s.StatusOf(ctx, b) == Lost {
		return fault.New(fault.Conflict, s.LostDetail()).Hint("resume the conversation")
	}
	return s.o.Store.SetSandboxPaused(ctx, string(owner), id, false)
}

// Delete ends a sandbox and deletes its workspace. Its conversations stay readable, and an
// archive keeps their files with the commits of repositories; if that cannot be made,
// checkpoints keep the files.
func (s *Service) Delete(ctx context.Context, owner identity.Tenant, id string) error {
	b, err := s.Get(ctx, owner, id)
	if err != nil {
		return err
	}
	var members []*session.Conversation
	err = s.each(ctx, id, func(c event.ConversationID) error {
		if err := s.release(ctx, c); err != nil {
			return err
		}
		one, err := s.o.Sessions.Get(ctx, c)
		if err != nil { // its user wants it gone
			s.o.Log.Warn("the files of a conversation are not kept", "conversation", c, "err", err)
			return nil
		}
		if inside, err := one.WorkspaceInside(); err == nil && !inside {
			members = append(members, one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(members) == 0 || Local(b) { // nobody comes back to the files
		return s.Discard(ctx, b)
	}
	if err := s.keep(ctx, b); err != nil {
		s.o.Log.Warn("the workspace of a sandbox is deleted without an archive", "sandbox", b.ID, "err", err)
		for _, one := range members {
			if err := one.Branches().Keep(ctx); err != nil {
				s.o.Log.Warn("the files of a conversation are deleted without a checkpoint", "conversation", one.ID(), "err", err)
			}
		}
	}
	return s.Discard(ctx, b)
}

// GiveUp ends the work of a Lost sandbox's conversations and forgets it, so that it can
// be revived.
func (s *Service) GiveUp(ctx context.Context, b store.Sandbox) error {
	err := s.each(ctx, b.ID, func(c event.ConversationID) error { return s.release(ctx, c) })
	if err != nil {
		return err
	}
	return s.o.Store.DeleteSandbox(ctx, b.Owner, b.ID)
}

// Discard deletes a sandbox in which nothing works, with its workspace, of which nothing is
// kept. A directory of its owner stays.
func (s *Service) Discard(ctx context.Context, b store.Sandbox) error {
	if err := s.o.Store.DeleteSandbox(ctx, b.Owner, b.ID); err != nil {
		return err
	}
	if Local(b) {
		return nil
	}
	if err := os.RemoveAll(b.Directory); err != nil {
		return fault.Wrap(err, fault.Denied, "delete the workspace of sandbox "+b.ID)
	}
	return nil
}

// each calls f for the conversations of a sandbox that exist.
func (s *Service) each(ctx context.Context, id string, f func(event.ConversationID) error) error {
	in, err := s.o.Store.InSandbox(ctx, id)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range in {
		if err := f(c); err != nil && !fault.Is(err, fault.NotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Scope returns the rights of a sandbox's session key: its conversations.
func (s *Service) Scope(b store.Sandbox) *session.Scope {
	return s.o.Sessions.Scope(identity.Tenant(b.Owner), members{s, b})
}

// members implements [session.Members] with the conversations of a sandbox.
type members struct {
	s *Service
	b store.Sandbox
}

// Contains implements [session.Members].
func (m members) Contains(ctx context.Context, id event.ConversationID) (bool, error) {
	return m.s.o.Store.IsMember(ctx, m.b.Owner, m.b.ID, id)
}

// List implements [session.Members].
func (m members) List(ctx context.Context) ([]event.ConversationID, error) {
	return m.s.o.Store.InSandbox(ctx, m.b.ID)
}

// Admit implements [session.Members]: a conversation works inside the workspace.
func (m members) Admit(ctx context.Context, spec *session.Spec) error {
	dir, err := Directory(m.b, spec.Workspace.WorkingDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "make the directory of the conversation")
	}
	spec.Workspace.WorkingDir = m.s.Inside(m.b, dir)
	if found, err := m.s.o.Store.Conversations(ctx, m.b.Owner, spec.ID); err != nil || found[spec.ID].Sandbox != "" {
		return err
	}
	return m.s.o.Store.SaveConversation(ctx, store.Conversation{
		ID: spec.ID, Owner: m.b.Owner, Sandbox: m.b.ID, AgentType: "default", Created: time.Now(),
	})
}

// AdmitChild makes a conversation that another one has started a member of the sandbox of
// that one, if it is in any.
func (s *Service) AdmitChild(ctx context.Context, parent, child event.ConversationID) error {
	info, err := s.o.Sessions.Store().Info(ctx, parent)
	if err != nil {
		return err
	}
	found, err := s.o.Store.Conversations(ctx, info.Meta.Owner, parent)
	if err != nil {
		return err
	}
	of, ok := found[parent]
	if !ok || of.Sandbox == "" {
		return nil
	}
	of.ID, of.Created, of.Trigger, of.Public, of.PRNumbers, of.PRURLs = child, time.Now(), "", false, nil, nil
	return s.o.Store.SaveConversation(ctx, of)
}

// Moved is [Locate] for a directory in the workspace that the sandbox had before it was
// deleted, which may have been in another place, on another machine.
func Moved(b store.Sandbox, dir string) (string, error) {
	where, err := Locate(b, dir)
	if err == nil {
		return where, nil
	}
	if _, below, ok := strings.Cut(filepath.Clean(dir)+"/", "/"+b.ID+"/"); ok && (below == "" || filepath.IsLocal(below)) {
		return filepath.Join(b.Directory, below), nil
	}
	return "", err
}

// Locate returns where a path in the workspace of a sandbox that a client names is on
// this machine: one of [ClientDirectory], one below the workspace, or relative to it; ""
// is the project's directory. All else is Invalid. Links are not resolved: that is for
// whoever opens the path.
func Locate(b store.Sandbox, named string) (string, error) {
	where := named
	switch {
	case named == "":
		where = Project(b)
	case named == ClientDirectory || strings.HasPrefix(named, ClientDirectory+"/"):
		where = b.Directory + strings.TrimPrefix(named, ClientDirectory)
	case !filepath.IsAbs(named): // the SDK sends "workspace/project" by default
		where = filepath.Join(b.Directory, strings.TrimPrefix(named, strings.TrimPrefix(ClientDirectory, "/")+"/"))
	}
	clean := filepath.Clean(where)
	if clean != b.Directory && !strings.HasPrefix(clean, b.Directory+"/") {
		return "", fault.New(fault.Invalid, "the path "+named+" is not in the workspace of the sandbox")
	}
	return clean, nil
}

// Project is the directory where conversations of a sandbox work by default.
func Project(b store.Sandbox) string {
	if Local(b) {
		return b.Directory
	}
	return filepath.Join(b.Directory, ProjectDirectory)
}

// Elsewhere reports whether workspaces are inside the isolation, and not on this
// machine.
func (s *Service) Elsewhere() bool { return s.o.Vanished != nil }

// Inside returns the path of a file of a sandbox's workspace as programs in the sandbox see
// it, given its path on this machine. It is the same, unless workspaces are inside the
// isolation: there they are in [ClientDirectory], whose files a Runtime API keeps when the
// runtime of a conversation ends.
func (s *Service) Inside(b store.Sandbox, dir string) string {
	if !s.Elsewhere() || dir != b.Directory && !strings.HasPrefix(dir, b.Directory+"/") {
		return dir
	}
	return ClientDirectory + strings.TrimPrefix(dir, b.Directory)
}

// Directory is [Locate] for a directory to work in: it may be missing, but neither it
// nor its parents may be a file or a link, which could lead out of the workspace.
func Directory(b store.Sandbox, named string) (string, error) {
	clean, err := Locate(b, named)
	if err != nil {
		return "", err
	}
	for dir := clean; dir != b.Directory; dir = filepath.Dir(dir) {
		fi, err := os.Lstat(dir)
		if err == nil && !fi.IsDir() {
			return "", fault.New(fault.Invalid, dir+" is not a directory")
		}
	}
	return clean, nil
}
