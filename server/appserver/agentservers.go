package appserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
)

// keptAgentServers is how many handlers of sandboxes are kept that nothing uses.
const keptAgentServers = 64

// agentServers serve the agent-server contract for each sandbox. A handler is made when
// the first request comes, and forgotten when many others were used later.
type agentServers struct {
	make func(ctx context.Context, b store.Sandbox) (*agentserver.Scoped, error)
	log  *slog.Logger

	mu     sync.Mutex
	open   map[string]*agentServer // by the session key: a sandbox that is made anew has another one
	closed bool
}

type agentServer struct {
	mu      sync.Mutex // held while it is made
	handler *agentserver.Scoped
	users   int
	used    time.Time
}

// serve answers a request for a sandbox.
func (a *agentServers) serve(w http.ResponseWriter, r *http.Request, b store.Sandbox) error {
	h, release, err := a.acquire(r.Context(), b)
	if err != nil {
		return err
	}
	defer release()
	h.ServeHTTP(w, r)
	return nil
}

func (a *agentServers) acquire(ctx context.Context, b store.Sandbox) (h *agentserver.Scoped, release func(), err error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil, nil, errClosing
	}
	one := a.open[b.SessionKey]
	if one == nil {
		one = &agentServer{}
		a.open[b.SessionKey] = one
	}
	one.users++
	a.mu.Unlock()
	release = func() {
		a.mu.Lock()
		one.users--
		one.used = time.Now()
		gone := a.surplus()
		a.mu.Unlock()
		a.end(gone)
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.handler == nil {
		if one.handler, err = a.make(ctx, b); err != nil {
			release()
			return nil, nil, err
		}
	}
	return one.handler, release, nil
}

// surplus takes the handler out that was not used for the longest time, if too many are
// kept that nothing uses.
func (a *agentServers) surplus() *agentServer {
	if len(a.open) <= keptAgentServers {
		return nil
	}
	unused, oldest := 0, ""
	for key, one := range a.open {
		if one.users > 0 {
			continue
		}
		unused++
		if oldest == "" || one.used.Before(a.open[oldest].used) {
			oldest = key
		}
	}
	if unused <= keptAgentServers {
		return nil
	}
	gone := a.open[oldest]
	delete(a.open, oldest)
	return gone
}

func (a *agentServers) end(one *agentServer) {
	if one == nil || one.handler == nil {
		return
	}
	if err := one.handler.Close(); err != nil {
		a.log.Warn("an agent server could not be closed", "err", err)
	}
}

// close ends all handlers with the sockets that they serve.
func (a *agentServers) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	var errs []error
	for _, one := range a.open {
		if one.handler != nil {
			errs = append(errs, one.handler.Close())
		}
	}
	a.open = nil
	return errors.Join(errs...)
}

// newAgentServer makes the handler of a sandbox.
func (s *services) newAgentServer(ctx context.Context, b store.Sandbox) (*agentserver.Scoped, error) {
	owned, err := s.owners.Of(ctx, identity.Tenant(b.Owner))
	if err != nil {
		return nil, err
	}
	project := sandboxes.Project(b)
	if !sandboxes.Local(b) {
		if err := os.MkdirAll(project, 0o700); err != nil {
			return nil, err
		}
	}
	locate := func(path string) string {
		if path == sandboxes.ClientDirectory || strings.HasPrefix(path, sandboxes.ClientDirectory+"/") {
			return b.Directory + strings.TrimPrefix(path, sandboxes.ClientDirectory)
		}
		return path
	}
	return agentserver.NewScoped(agentserver.ScopedOptions{
		Sessions: s.sessions, Owner: identity.Tenant(b.Owner), Sandbox: b.ID, Scope: s.sandboxes.Scope(b), Keys: []string{b.SessionKey, b.BrowserKey()}, Settings: owned,
		Builder: s.backend.Builder, Adapters: s.o.Adapters, Dir: s.o.Conversations, BashDir: filepath.Join(s.o.Dir, "sandbox-events", b.ID),
		Workspace: b.Directory, Project: project, Version: s.o.Version, Log: s.o.Log, Uptime: s.uptime, Origin: s.o.allowedOrigin,
		Locate: locate,
		Inside: func(path string) string { return s.sandboxes.Inside(b, locate(path)) }, Elsewhere: s.sandboxes.Elsewhere(), Editor: editor{s, b},
	})
}

// editor is VS Code of a sandbox.
type editor struct {
	v *services
	b store.Sandbox
}

// State implements [vscode.Editor].
func (e editor) State(ctx context.Context, conversation string) (has, runs bool, err error) {
	info, err := e.find(ctx, conversation)
	if err != nil {
		return false, false, err
	}
	return e.v.apps.EditorState(ctx, info)
}

// Open implements [vscode.Editor].
func (e editor) Open(r *http.Request, conversation string) (string, error) {
	info, err := e.find(r.Context(), conversation)
	if err != nil {
		return "", err
	}
	return e.v.apps.OpenEditor(r, info)
}

func (e editor) find(ctx context.Context, conversation string) (*conversations.Info, error) {
	id, named := event.ParseConversationID(conversation)
	if !named {
		page, err := e.v.sandboxes.Scope(e.b).Infos(ctx, eventstream.ListQuery{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(page.Infos) == 0 {
			return nil, fault.New(fault.NotFound, "the sandbox has no conversation")
		}
		id = page.Infos[0].ID
	}
	return e.v.conversations.One(ctx, identity.Tenant(e.b.Owner), id)
}

// stopSockets ends all sockets, which would keep the server from stopping.
func (s *services) stopSockets() {
	if err := s.agentServers.close(); err != nil {
		s.o.Log.Warn("agent servers could not be closed", "err", err)
	}
}
