// Package acpserve is `deft acp`: it offers Deft to editors that speak the Agent Client Protocol
// (https://agentclientprotocol.com), such as Zed, JetBrains' IDEs and Neovim's plugins.
//
// # Usage
//
//	s := acpserve.New(acpserve.Options{Sessions: m, Spec: spec, Mode: security.Risky})
//	err := s.Serve(ctx, os.Stdin, os.Stdout)
//
// A session is a conversation like all others, made with the first prompt: `deft run --resume` and
// the web app open it when the editor has closed it. The modes of a session are the presets of
// package security, and a permission request is a question of package confirmation.
//
// # Concurrency
//
// Sessions work side by side; a session has one prompt at a time. Serve waits for the end of all.
//
// # Failure
//
// An error is the answer to the request, with what to do next. A prompt that the client cancels,
// or whose client goes away, interrupts the run; the conversation can be resumed.
package acpserve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// Options configure a Server. All fields but Inside are required.
type Options struct {
	Sessions *session.Manager
	// Spec returns the specification of the conversation of a new session in a directory.
	// servers are the MCP servers of the client, in the form of a file with mcpServers; nil for
	// none.
	Spec func(ctx context.Context, id event.ConversationID, dir string, servers json.RawMessage) (session.Spec, error)
	// Inside says that workspaces are inside the sandboxes: the directories of clients do not
	// count.
	Inside bool
	// Mode is the preset of new sessions.
	Mode security.Preset
	// Analyzer rates actions in the modes that ask, in the place of the preset's; nil for that.
	Analyzer json.RawMessage
	Version  string
	Log      *slog.Logger
}

// Server has the sessions of one client. Make one with [New].
type Server struct {
	o     Options
	ready chan struct{} // closed when conn is set
	conn  *acp.AgentSideConnection
	life  context.Context // of the connection; set with conn

	mu       sync.Mutex
	sessions map[event.ConversationID]*live
	closing  bool
	work     sync.WaitGroup // of prompts
}

var (
	_ acp.Agent       = (*Server)(nil)
	_ acp.AgentLoader = (*Server)(nil)
)

// New returns a Server.
func New(o Options) *Server {
	return &Server{o: o, ready: make(chan struct{}), sessions: map[event.ConversationID]*live{}}
}

// Serve answers the requests of in on out until in or ctx ends, then interrupts the prompts and
// waits for them.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.life = life
	s.conn = acp.NewAgentSideConnection(s, out, in)
	s.conn.SetLogger(s.o.Log)
	close(s.ready)
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
	err := in.Close() // ends the connection, and with it the contexts of prompts
	<-s.conn.Done()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.work.Wait()
	return err
}

// client returns the connection to the client.
func (s *Server) client() *acp.AgentSideConnection {
	<-s.ready
	return s.conn
}

// enter notes that a prompt works. The error says that the server ends.
func (s *Server) enter() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, fault.New(fault.Canceled, "Deft is closing")
	}
	s.work.Add(1)
	return s.work.Done, nil
}

// Initialize implements [acp.Agent].
func (s *Server) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	title := "Deft"
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "deft", Title: &title, Version: s.o.Version},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    acp.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{
				Close: &acp.SessionCloseCapabilities{}, List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []acp.AuthMethod{},
	}, nil
}

// Authenticate implements [acp.Agent]. Deft offers no method: keys are in its settings.
func (s *Server) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewInvalidParams("there is no login: give Deft a model with `deft llm profile`, or a key in the environment")
}

// NewSession implements [acp.Agent]. The conversation is made with the first prompt.
func (s *Server) NewSession(ctx context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	servers, err := serversOf(r.McpServers)
	if err == nil {
		err = s.refuseDirectories(r.AdditionalDirectories)
	}
	if err == nil && !filepath.IsAbs(r.Cwd) {
		err = fault.New(fault.Invalid, "the directory "+r.Cwd+" is not absolute")
	}
	if err != nil {
		return acp.NewSessionResponse{}, failed(err)
	}
	id := event.NewConversationID()
	made, err := s.o.Spec(ctx, id, r.Cwd, servers)
	if err != nil {
		return acp.NewSessionResponse{}, failed(err)
	}
	made.ID = id
	if commands, err := s.commands(made.Agent, made.Workspace.WorkingDir); err != nil {
		s.o.Log.Info("list the commands of a session", "err", err)
	} else {
		s.announce(ctx.Done(), acp.SessionId(id), commands)
	}
	one := s.keep(&live{s: s, id: id, turn: make(chan struct{}, 1), t: newTranslator(), spec: &made, mode: s.o.Mode})
	return acp.NewSessionResponse{SessionId: acp.SessionId(id), Modes: modes(one.mode)}, nil
}

// commands are the commands of a workspace; none of one inside a sandbox, which is not read yet.
func (s *Server) commands(a *spec.Agent, dir string) ([]session.Command, error) {
	if s.o.Inside {
		return nil, nil
	}
	return s.o.Sessions.Commands(a, dir)
}

// refuseDirectories refuses further directories: which ones the sandbox shows is for the user to
// say.
func (s *Server) refuseDirectories(more []string) error {
	if len(more) == 0 {
		return nil
	}
	return fault.New(fault.Unsupported, "further directories cannot be opened for a session").Hint("start deft acp with --read DIR or --write DIR")
}

// LoadSession implements [acp.AgentLoader]: it sends the history.
func (s *Server) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	one, mode, err := s.open(ctx, r.SessionId, r.Cwd, r.McpServers, r.AdditionalDirectories)
	if err == nil {
		err = one.replay(ctx)
	}
	if err != nil {
		return acp.LoadSessionResponse{}, failed(err)
	}
	return acp.LoadSessionResponse{Modes: modes(mode)}, nil
}

// ResumeSession implements [acp.Agent].
func (s *Server) ResumeSession(ctx context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	_, mode, err := s.open(ctx, r.SessionId, r.Cwd, r.McpServers, r.AdditionalDirectories)
	if err != nil {
		return acp.ResumeSessionResponse{}, failed(err)
	}
	return acp.ResumeSessionResponse{Modes: modes(mode)}, nil
}

// open finds a stored conversation.
func (s *Server) open(ctx context.Context, id acp.SessionId, dir string, servers []acp.McpServer, more []string) (*live, security.Preset, error) {
	if err := s.refuseDirectories(more); err != nil {
		return nil, "", err
	}
	own, ok := event.ParseConversationID(string(id))
	if !ok {
		return nil, "", errNoSession
	}
	c, err := s.o.Sessions.Get(ctx, own)
	if fault.Is(err, fault.NotFound) {
		err = errNoSession
	}
	if err != nil {
		return nil, "", err
	}
	if !s.o.Inside && realpath.Resolve(c.Workspace()) != realpath.Resolve(dir) {
		return nil, "", fault.New(fault.Invalid, "the session works in "+c.Workspace()+", not in "+dir).Hint("open that directory in the editor")
	}
	mode, err := c.Confirmation().Preset(ctx)
	if err != nil {
		return nil, "", err
	}
	if len(servers) > 0 {
		s.o.Log.Info("a session keeps the MCP servers that it was made with", "session", id)
	}
	if commands, err := s.commands(c.Agent(), c.Workspace()); err != nil {
		s.o.Log.Info("list the commands of a session", "session", id, "err", err)
	} else {
		s.announce(ctx.Done(), id, commands)
	}
	return s.keep(&live{s: s, id: own, turn: make(chan struct{}, 1), t: newTranslator()}), mode, nil
}

var errNoSession = fault.New(fault.NotFound, "there is no such session").Hint("begin a new one")

// keep returns the session of the same id if there is one, or else the given one from now on.
func (s *Server) keep(one *live) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sessions[one.id]; known != nil {
		return known
	}
	s.sessions[one.id] = one
	return one
}

func (s *Server) find(id acp.SessionId) (*live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[event.ConversationID(id)]; one != nil {
		return one, nil
	}
	return nil, errNoSession
}

// ListSessions implements [acp.Agent]: the stored conversations that nobody else has started,
// the newest first.
func (s *Server) ListSessions(ctx context.Context, r acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	q := eventstream.ListQuery{WithoutParent: true, ByUpdated: true, Limit: listPage}
	if r.Cursor != nil {
		q.PageID = *r.Cursor
	}
	page, err := s.o.Sessions.Store().List(ctx, q)
	if err != nil {
		return acp.ListSessionsResponse{}, failed(err)
	}
	out := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, info := range page.Infos {
		dir := info.Meta.WorkingDir
		if r.Cwd != nil && realpath.Resolve(dir) != realpath.Resolve(*r.Cwd) {
			continue
		}
		updated := info.Updated.Format(time.RFC3339)
		out.Sessions = append(out.Sessions, acp.SessionInfo{
			SessionId: acp.SessionId(info.ID), Cwd: dir, Title: &info.Meta.Title, UpdatedAt: &updated,
		})
	}
	if page.NextID != "" {
		out.NextCursor = &page.NextID
	}
	return out, nil
}

// listPage is how many conversations a page of a list looks at.
const listPage = 100

// CloseSession implements [acp.Agent].
func (s *Server) CloseSession(ctx context.Context, r acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	one, err := s.find(r.SessionId)
	if err == nil {
		err = one.close(ctx)
	}
	if err != nil {
		return acp.CloseSessionResponse{}, failed(err)
	}
	s.mu.Lock()
	delete(s.sessions, one.id)
	s.mu.Unlock()
	return acp.CloseSessionResponse{}, nil
}

// Cancel implements [acp.Agent]. The connection ends the context of the prompt as well.
func (s *Server) Cancel(_ context.Context, r acp.CancelNotification) error {
	_, err := s.find(r.SessionId)
	return err
}

// SetSessionConfigOption implements [acp.Agent]. Sessions have no such options.
func (s *Server) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewInvalidParams("sessions have no options")
}

// SetSessionMode implements [acp.Agent].
func (s *Server) SetSessionMode(ctx context.Context, r acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	one, err := s.find(r.SessionId)
	if err == nil {
		err = one.setMode(ctx, security.Preset(r.ModeId))
	}
	if err != nil {
		return acp.SetSessionModeResponse{}, failed(err)
	}
	return acp.SetSessionModeResponse{}, nil
}

// Prompt implements [acp.Agent].
func (s *Server) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	one, err := s.find(r.SessionId)
	if err != nil {
		return acp.PromptResponse{}, failed(err)
	}
	content, err := contentOf(r.Prompt)
	if err != nil {
		return acp.PromptResponse{}, failed(err)
	}
	leave, err := s.enter()
	if err != nil {
		return acp.PromptResponse{}, failed(err)
	}
	defer leave()
	reason, err := one.prompt(ctx, content)
	if err != nil {
		return acp.PromptResponse{}, failed(err)
	}
	return acp.PromptResponse{StopReason: reason}, nil
}

// failed makes an error of the protocol: the message is for a person.
func failed(err error) error {
	var e *acp.RequestError
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Unsupported:
		e = acp.NewInvalidParams(nil)
	case fault.Conflict:
		e = acp.NewInvalidRequest(nil)
	case fault.Auth:
		e = acp.NewAuthRequired(nil)
	case fault.Canceled:
		e = acp.NewRequestCancelled(nil)
	default:
		e = acp.NewInternalError(nil)
		if errors.Is(err, context.Canceled) {
			e = acp.NewRequestCancelled(nil)
		}
	}
	e.Message = err.Error()
	if hint := fault.HintOf(err); hint != "" {
		e.Message += " (" + hint + ")"
	}
	return e
}
