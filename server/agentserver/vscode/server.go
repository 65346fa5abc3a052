package vscode

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/session"
)

// ServerOptions configure a [Server].
type ServerOptions struct {
	// Get returns a conversation, the newest one for the empty id.
	Get func(ctx context.Context, id event.ConversationID) (*session.Conversation, error)
	// Link connects to the sandbox of a conversation; nil where there are none, and VS Code is
	// one for all conversations of this machine.
	Link func(ctx context.Context, r session.BuildRequest) (ports.Link, error)
	// Address is where it listens for browsers, as host:port; BasePath begins its paths there.
	Address, BasePath string
	Log               *slog.Logger
}

// Server is VS Code of the conversations of an agent server. It listens at one address for all
// of them, once somebody has asked for the first. The path of a conversation has a token that
// nobody guesses and that changes with each start of the server: whoever has the address may use it.
type Server struct {
	o      ServerOptions
	secret []byte
	starts singleflight.Group // by conversation

	mu     sync.Mutex
	listen *http.Server // nil before the first address
	served sync.WaitGroup
	closed bool
}

var _ Editor = (*Server)(nil)

// NewServer returns a server, which must be closed.
func NewServer(o ServerOptions) *Server {
	s := &Server{o: o, secret: make([]byte, 32)}
	_, _ = rand.Read(s.secret) // it does not fail
	s.o.BasePath = strings.TrimRight(path.Join("/", o.BasePath), "/")
	return s
}

// Close stops listening. VS Code goes on as long as its sandbox does.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	l := s.listen
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	err := l.Close()
	s.served.Wait()
	return err
}

// State implements [Editor].
func (s *Server) State(ctx context.Context, conversation string) (has, runs bool, err error) {
	_, e, err := s.with(ctx, conversation, ports.LookForEditor)
	return e.Name != "", e.Port != 0, err
}

// Open implements [Editor]. The query of the request may have base_url and workspace_dir, as in
// the reference.
func (s *Server) Open(r *http.Request, conversation string) (string, error) {
	type started struct {
		c *session.Conversation
		e ports.Editor
	}
	ctx := context.WithoutCancel(r.Context()) // a browser that leaves does not stop it for others
	got, err, _ := s.starts.Do(conversation, func() (any, error) {
		id, _ := event.ParseConversationID(conversation)
		c, err := s.o.Get(ctx, id)
		if err == nil {
			err = c.Environment().Ready(ctx) // the sandbox is started, too
		}
		if err != nil {
			return nil, err
		}
		c, e, err := s.with(ctx, string(c.ID()), ports.StartEditor)
		return started{c, e}, err
	})
	if err != nil {
		return "", err
	}
	if err := s.open(ctx); err != nil {
		return "", err
	}
	c, e := got.(started).c, got.(started).e
	folder, err := folderOf(c, r.URL.Query().Get("workspace_dir"))
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(s.o.Address) // it listens there
	base := "http://localhost:" + port
	if asked := r.URL.Query().Get("base_url"); asked != "" {
		u, err := url.Parse(asked)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", fault.New(fault.Invalid, "base_url is not a URL of http or https")
		}
		base = strings.TrimRight(asked, "/")
	}
	return base + s.o.BasePath + "/" + s.name(c.ID(), e.Port) + "/?folder=" + url.QueryEscape(folder), nil
}

// folderOf is the directory that VS Code shows. Clients that choose none send "workspace".
func folderOf(c *session.Conversation, asked string) (string, error) {
	dir := c.Workspace()
	if asked == "" || asked == "workspace" {
		return dir, nil
	}
	if !path.IsAbs(asked) {
		asked = path.Join(dir, asked)
	}
	if !c.WorkspaceContains(asked) {
		return "", fault.New(fault.Invalid, "workspace_dir is not in the conversation's workspace")
	}
	return asked, nil
}

func (s *Server) with(ctx context.Context, conversation string, do func(context.Context, *session.Conversation, ports.Link) (ports.Editor, error)) (_ *session.Conversation, e ports.Editor, err error) {
	id, _ := event.ParseConversationID(conversation)
	c, err := s.o.Get(ctx, id)
	if err != nil {
		return nil, e, err
	}
	link, err := s.link(ctx, c)
	if err != nil {
		return nil, e, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	e, err = do(ctx, c, link)
	return c, e, err
}

func (s *Server) link(ctx context.Context, c *session.Conversation) (ports.Link, error) {
	if s.o.Link == nil {
		return machine{}, nil
	}
	return s.o.Link(ctx, c.SandboxRequest())
}

// machine connects to programs of this machine.
type machine struct{}

func (machine) Dial(ctx context.Context, port int) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func (machine) Ports(context.Context) ([]ports.Port, error) {
	return nil, fault.New(fault.Unsupported, "the programs of this machine are not listed")
}

func (machine) Close() error { return nil }

// open listens for browsers, unless it does already.
func (s *Server) open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return fault.New(fault.Unavailable, "the server is stopping")
	case s.listen != nil:
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.o.Address)
	if err != nil {
		return fault.New(fault.Conflict, "VS Code cannot be reached at "+s.o.Address+": "+err.Error()).Hint("choose another port with OH_VSCODE_PORT")
	}
	s.listen = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug)}
	s.served.Go(func() { _ = s.listen.Serve(l) }) // until Close
	return nil
}

// name names VS Code of a conversation in paths.
func (s *Server) name(id event.ConversationID, port int) string {
	h := hmac.New(sha256.New, s.secret)
	fmt.Fprintf(h, "%s %d", id.Hex(), port)
	return strconv.Itoa(port) + "-" + id.Hex() + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// serve passes a request on to VS Code of the conversation that its path names.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.Path, s.o.BasePath+"/")
	name, _, _ := strings.Cut(below, "/")
	parts := strings.Split(name, "-")
	if !ok || len(parts) != 3 {
		nothing(w)
		return
	}
	port, err := strconv.ParseUint(parts[0], 10, 16)
	id, known := event.ParseConversationID(parts[1])
	if err != nil || !known || subtle.ConstantTimeCompare([]byte(name), []byte(s.name(id, int(port)))) != 1 {
		nothing(w)
		return
	}
	ports.Proxy{
		Port: int(port), Prefix: s.o.BasePath + "/" + name, Log: s.o.Log,
		Link: func(ctx context.Context) (ports.Link, error) {
			c, err := s.o.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			return s.link(ctx, c)
		},
	}.ServeHTTP(w, r)
}

func nothing(w http.ResponseWriter) {
	ports.Say(w, http.StatusNotFound, "There is nothing here", "GET /api/vscode/url of the agent server has the address of VS Code.")
}
