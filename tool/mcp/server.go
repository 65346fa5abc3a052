package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
)

// firstVersion is the protocol version that is tried first: it begins with a
// handshake that every server supports. A server that supports only newer ones
// answers with an error, and then the newest version is tried.
const firstVersion = "2025-11-25"

// server is one server of a set and its session, which may end and be reopened.
type server struct {
	name   string
	config Server
	local  http.Handler // of a server of this process; nil for another one
	pooled *pooled      // of a remote server that shares its session; nil for another one
	left   sync.Once    // pooled
	set    *Set

	changes *changes // of its list of tools

	opening chan struct{} // holds one; taken while a session is opened

	resources, prompts atomic.Bool // it has some

	slow atomic.Int32 // how often its tools did not come in time

	mu      sync.Mutex
	session *session // nil before the first and after the last
}

// maxLimit bounds the wait for a server whose tools did not come in time before, unless its
// own limit is longer.
const maxLimit = 10 * time.Minute

// limit is how long to wait for its tools: twice as long after each time that was too short.
func (s *server) limit() time.Duration {
	limit := s.config.limit(s.set.opts.ConnectTimeout)
	return max(limit, min(limit<<min(s.slow.Load(), 20), maxLimit))
}

// session is one connection. dead is closed when it has ended.
type session struct {
	*sdk.ClientSession
	program *stdio       // of a server over stdio
	http    *http.Client // of a remote one
	users   users
	dead    chan struct{}
	cancel  context.CancelCauseFunc // of the context that the connection is bound to
}

func newServer(name string, config Server, set *Set) *server {
	return &server{
		name: name, config: config, set: set,
		changes: newChanges(), opening: make(chan struct{}, 1),
	}
}

// get returns the live session, opening one if there is none.
func (s *server) get(ctx context.Context) (*session, error) {
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	old := s.session
	s.mu.Unlock()
	if old != nil && !old.over() {
		return old, nil
	}
	if s.set.ctx.Err() != nil {
		return nil, errClosed
	}
	if old != nil {
		old.close()
		s.changes.renew()
	}
	fresh, err := s.obtain(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.session = fresh
	s.mu.Unlock()
	if r := fresh.InitializeResult(); r != nil && r.Capabilities != nil {
		s.resources.Store(r.Capabilities.Resources != nil)
		s.prompts.Store(r.Capabilities.Prompts != nil)
	}
	return fresh, nil
}

// obtain returns a session that others share, or else a new one.
func (s *server) obtain(ctx context.Context) (*session, error) {
	if s.pooled == nil {
		return s.openAny(ctx)
	}
	select {
	case s.pooled.opening <- struct{}{}:
		defer func() { <-s.pooled.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if live := s.pooled.join(s); live != nil {
		return live, nil
	}
	fresh, err := s.openAny(ctx)
	if err == nil {
		s.pooled.put(fresh)
	}
	return fresh, err
}

// openAny connects by the version that is tried first, or by the newest one.
func (s *server) openAny(ctx context.Context) (*session, error) {
	fresh, err := s.open(ctx, firstVersion)
	var answered *jsonrpc.Error
	if errors.As(err, &answered) {
		fresh, err = s.open(ctx, "")
	}
	if errors.As(err, &answered) {
		err = s.failed("connect", err)
	}
	return fresh, err
}

func (s *session) over() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// open connects once. The connection outlives ctx: some transports
// are bound to the context of their beginning, so that is one of its own.
func (s *server) open(ctx context.Context, version string) (*session, error) {
	connCtx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	most := s.limit()
	limit := time.AfterFunc(most, func() { end(errSlow) })
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	closing := context.AfterFunc(s.set.ctx, func() { end(errClosed) })
	fresh := &session{dead: make(chan struct{}), cancel: end}
	err := fresh.connect(connCtx, s, version)
	limit.Stop()
	stop()
	closing()
	if err != nil {
		err = slow(connCtx, most, err)
		fresh.end()
		return nil, err
	}
	work := &s.set.work
	if s.pooled != nil {
		work = &s.pooled.work
	}
	work.Go(func() {
		_ = fresh.Wait() // the call that ran gets the reason
		close(fresh.dead)
	})
	return fresh, nil
}

func (s *session) connect(ctx context.Context, sv *server, version string) error {
	s.users.add(sv)
	transport, err := s.transport(ctx, sv)
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "deft", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.users.changed(sv.local == nil)
		},
	})
	s.ClientSession, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return err
	}
	if s.program != nil {
		err = s.program.explain(err)
	}
	return sv.failed("connect", err)
}

// failed turns an error of the transport into one that can be shown: its message
// may contain the URL, or a key that the server printed on stderr.
func (s *server) failed(doing string, err error) error {
	if errors.Is(err, errLogin) {
		return fault.New(fault.Auth, doing+": "+errLogin.Error()+": log in by `deft mcp login "+describe(s.name, 200)+"`, or in the settings of the web app")
	}
	text := err.Error()
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		text = inURL.Err.Error()
	}
	return fault.New(fault.Unavailable, doing+": "+s.config.conceal(text))
}

func (s *session) transport(ctx context.Context, sv *server) (sdk.Transport, error) {
	if sv.local != nil {
		t, client := local(sv.local)
		s.http = client
		return t, nil
	}
	if sv.config.transport() != Stdio {
		t, client, err := remote(ctx, sv, &s.users)
		s.http = client
		return t, err
	}
	p, err := start(ctx, sv)
	if err != nil {
		if fault.Is(err, fault.Unsupported) {
			return nil, err
		}
		return nil, sv.failed("start", err)
	}
	s.program = p
	return p, nil
}

// close ends a session and waits for its end.
func (s *session) close() {
	_ = s.Close() // a session that died already says so here
	s.end()
	<-s.dead
}

// end releases the transport's resources.
func (s *session) end() {
	if s.program != nil {
		_ = s.program.Close() // it has ended, whatever the error
	}
	s.cancel(errClosed)
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
}

// close ends the server's session, if there is one.
func (s *server) close() {
	s.opening <- struct{}{} // a goroutine that opens one sees the set's end, and stops
	defer func() { <-s.opening }()
	s.mu.Lock()
	live := s.session
	s.session = nil
	s.mu.Unlock()
	if live != nil && (s.pooled == nil || s.pooled.leave(s, live)) {
		live.close()
	}
	if s.pooled != nil {
		s.left.Do(s.pooled.exit)
	}
}

// list asks the server for its tools.
func (s *server) list(ctx context.Context) ([]*sdk.Tool, error) {
	most := s.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, most, errSlow)
	defer cancel()
	defer func() {
		if errors.Is(context.Cause(ctx), errSlow) {
			s.slow.Add(1)
		}
	}()
	live, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	tools := []*sdk.Tool{}
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := live.ListTools(ctx, params)
		if err != nil {
			return nil, slow(ctx, most, s.failed("list the tools", err))
		}
		for _, t := range page.Tools {
			if t == nil || t.Name == "" {
				continue
			}
			if len(tools) == maxTools {
				return tools, fault.New(fault.Limit, fmt.Sprintf("it has more than %d tools; the first ones are used", maxTools))
			}
			tools = append(tools, t)
		}
		if page.NextCursor == "" || page.NextCursor == params.Cursor {
			return tools, nil
		}
		params.Cursor = page.NextCursor
	}
	return tools, fault.New(fault.Limit, fmt.Sprintf("its list has more than %d pages; the first ones are used", maxPages))
}

// errSlow is the cancellation cause of our own time limits.
var errSlow = errors.New("no answer in time")

// slow returns a fault.Timeout for an error that one of our time limits caused.
func slow(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(context.Cause(ctx), errSlow) {
		return fault.New(fault.Timeout, fmt.Sprintf("no answer within %g seconds", limit.Seconds()))
	}
	return err
}
