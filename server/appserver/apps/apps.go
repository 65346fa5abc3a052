// Package apps shows the programs that listen in the sandbox of a conversation, and passes
// browsers on to them. Their pages may be hostile, so each port has an origin of its own:
// a host name that is never the App Server's, and so gets none of its cookies.
//
// # Usage
//
//	s := apps.New(apps.Options{…})
//	routes := s.Routes()                       // lists ports with their addresses, starts VS Code
//	if a, ok := s.Of(r); ok { s.Serve(w, r, a) } // before all other routes
//
// A host name is PORT-CONVERSATION-TOKEN below a domain, by default localhost. The token
// is made from the session key of the sandbox: whoever has the address may use it, like
// the session key itself, and nobody can guess it.
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Where nothing listens, or the sandbox does not
// run, a page says so.
package apps

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"golang.org/x/sync/singleflight"
)

// Options configure a Service. All but Domain are required.
type Options struct {
	Conversations *conversations.Service
	Store         *store.Store
	// Link connects to the sandbox of a conversation. NotFound if it does not run,
	// Unsupported for one without a network of its own.
	Link func(ctx context.Context, r session.BuildRequest) (ports.Link, error)
	// Domain ends the host names of ports, such as apps.example.org. Empty for
	// localhost, if the server is reached by a name of this machine.
	Domain string
	// URL is where the client of a request reaches this server, without a last slash.
	URL func(r *http.Request) string
	Log *slog.Logger
}

// Service has the routes.
type Service struct {
	o      Options
	starts singleflight.Group // of editors, by conversation
}

// New returns a service.
func New(o Options) *Service { return &Service{o: o} }

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/api/v1/app-conversations/{conversation_id}/apps", Tag: "Apps", Scope: rest.Account, Handle: s.list},
		{Method: "GET", Path: "/api/v1/app-conversations/{conversation_id}/editor", Tag: "Apps", Scope: rest.Account, Handle: s.editor},
		{Method: "POST", Path: "/api/v1/app-conversations/{conversation_id}/editor", Tag: "Apps", Scope: rest.Account, Handle: s.openEditor},
	}
}

// shown is a port as it is listed.
type shown struct {
	Port    int    `json:"port"`
	Address string `json:"address"`
	// URL is null where no domain for it is configured.
	URL *string `json:"url"`
}

// list lists listening programs. The reason for an empty list is in "detail".
func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	info, err := s.one(r)
	if err != nil {
		return err
	}
	ctx, id := r.Context(), info.Info.ID
	var out struct {
		Items  []shown `json:"items"`
		Detail *string `json:"detail"`
	}
	out.Items = []shown{}
	say := func(text string) { out.Detail = &text }
	if info.In == nil {
		say(noSandbox.Error())
		return rest.JSON(w, http.StatusOK, out)
	}
	found, err := s.ports(ctx, *info.In, id)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported):
		say(err.Error())
		return rest.JSON(w, http.StatusOK, out)
	case err != nil:
		return err
	}
	for _, p := range found {
		one := shown{Port: p.Port, Address: p.Address}
		if at := s.address(r, *info.In, id, p.Port); at != "" {
			one.URL = &at
		} else {
			say(setDomain)
		}
		out.Items = append(out.Items, one)
	}
	return rest.JSON(w, http.StatusOK, out)
}

var noSandbox = fault.New(fault.NotFound, "the conversation has no sandbox")

// setDomain is the operator's next step if browsers reach no port.
const setDomain = "the operator can set server.apps_domain, so that browsers reach these ports"

// one is the conversation that a request names, if it is its caller's.
func (s *Service) one(r *http.Request) (*conversations.Info, error) {
	id, ok := event.ParseConversationID(r.PathValue("conversation_id"))
	if !ok {
		return nil, schema.Invalid("Input should be a valid UUID", r.PathValue("conversation_id"), "path", "conversation_id")
	}
	return s.o.Conversations.One(r.Context(), identity.CallerOf(r.Context()).Tenant(), id)
}

func (s *Service) ports(ctx context.Context, in store.Sandbox, id event.ConversationID) (found []ports.Port, err error) {
	link, err := s.link(ctx, in, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	return link.Ports(ctx)
}

// link connects to the sandbox of a conversation.
func (s *Service) link(ctx context.Context, in store.Sandbox, id event.ConversationID) (ports.Link, error) {
	c, err := s.conversation(ctx, in, id)
	if err != nil {
		return nil, err
	}
	return s.o.Link(ctx, c.SandboxRequest())
}

// conversation opens a conversation whose sandbox is not paused.
func (s *Service) conversation(ctx context.Context, in store.Sandbox, id event.ConversationID) (*session.Conversation, error) {
	if in.Paused {
		return nil, fault.New(fault.NotFound, "the sandbox is paused")
	}
	return s.o.Conversations.Scope(identity.Tenant(in.Owner)).Get(ctx, id)
}

// local is the domain whose names browsers know to be this machine (RFC 6761 section 6.3).
const local = "localhost"

// domain returns the end of host names, "" if there is no domain for the request.
func (s *Service) domain(r *http.Request) string {
	if s.o.Domain != "" {
		return s.o.Domain
	}
	_, host, _ := strings.Cut(s.o.URL(r), "://")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == local || ip != nil && ip.IsLoopback() {
		return local
	}
	return ""
}

// address returns where browsers reach a port, "" if nowhere.
func (s *Service) address(r *http.Request, in store.Sandbox, id event.ConversationID, port int) string {
	domain := s.domain(r)
	if domain == "" {
		return ""
	}
	scheme, host, _ := strings.Cut(s.o.URL(r), "://")
	if _, at, err := net.SplitHostPort(host); err == nil {
		domain += ":" + at
	}
	return scheme + "://" + strconv.Itoa(port) + "-" + id.Hex() + "-" + token(in, id, port) + "." + domain + "/"
}

// tokenLen makes a name of 63 characters, the longest that DNS has: 120 bits.
const tokenLen = 24

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// token proves that an address was given out by a server that knows the sandbox.
func token(in store.Sandbox, id event.ConversationID, port int) string {
	h := hmac.New(sha256.New, []byte(in.SessionKey))
	h.Write([]byte("app\x00" + id.Hex() + "\x00" + strconv.Itoa(port)))
	return encoding.EncodeToString(h.Sum(nil))[:tokenLen]
}

// App is the port that a request is for.
type App struct {
	id    event.ConversationID
	port  int
	token string
}

// Conversation is that in whose sandbox the port is.
func (a App) Conversation() event.ConversationID { return a.id }

// Of returns the port that a request names by its host, also one that does not exist: such
// a host never is the App Server's own.
func (s *Service) Of(r *http.Request) (a App, ok bool) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	domain := s.o.Domain
	domain = cmp.Or(domain, local)
	label, below := strings.CutSuffix(host, "."+domain)
	if !below {
		return App{}, false
	}
	parts := strings.Split(label, "-")
	if len(parts) != 3 {
		return App{}, true
	}
	port, err := strconv.ParseUint(parts[0], 10, 16)
	id, known := event.ParseConversationID(parts[1])
	if err != nil || !known {
		return App{}, true
	}
	return App{id, int(port), parts[2]}, true
}
