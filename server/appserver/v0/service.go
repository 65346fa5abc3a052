// Package v0 serves the routes of conversations of OpenHands' first REST API (V0):
// docs/openhands/app-server-v0.md section 4.3. They are thin over package
// conversations: a conversation that was made here is one of /api/v1 too, and the other
// way round. docs/routes-v0.md lists the operations.
//
// # Usage
//
//	routes := v0.New(v0.Options{Conversations: conversations, Sandboxes: sandboxes, URL: baseURL, …}).Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Callers must be authenticated (package identity).
// Objects of another owner are answered as if they did not exist. Errors are V0's:
// {"status": "error", "message": …, "msg_id": …}.
package v0

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/rest"
)

// Options configure a Service. All are required.
type Options struct {
	Conversations *conversations.Service
	Sandboxes     *sandboxes.Service
	// URL is where the client of a request reaches this server, without a last slash.
	URL func(r *http.Request) string
	// MCPServers returns the MCP servers of V0's lists by name; loc is where a request has them.
	MCPServers func(lists *schema.Map, loc ...any) (*schema.Map, error)
	Log        *slog.Logger
}

// Service has the routes.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// maxUpload bounds the files of one upload, in bytes.
const maxUpload = 1 << 30

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const base, one = "/api/conversations", "/api/conversations/{conversation_id}"
	r := func(method, path string, h rest.Handler) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: "V0", Legacy: true, Scope: rest.Account, Handle: s.v0(h)}
	}
	upload := r("POST", one+"/upload-files", s.upload)
	upload.Limit = maxUpload
	return []rest.Route{
		rest.Costly(r("POST", base, s.create)),
		r("GET", base, s.search),
		r("GET", one, s.get),
		r("PATCH", one, s.patch),
		r("DELETE", one, s.delete),
		rest.Costly(r("POST", one+"/start", s.start)),
		r("POST", one+"/stop", s.stop),
		r("GET", one+"/events", s.events),
		r("POST", one+"/events", s.addEvent),
		rest.Costly(r("GET", one+"/trajectory", s.trajectory)),
		r("GET", one+"/list-files", s.listFiles),
		r("GET", one+"/select-file", s.selectFile),
		rest.Costly(r("GET", one+"/zip-directory", s.zipDirectory)),
		r("GET", one+"/git/changes", s.gitChanges),
		r("GET", one+"/git/diff", s.gitDiff),
		upload,
	}
}

// failure is an error as V0 has it. Its routes have one of three forms; this has the
// members of all.
type failure struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Error   string `json:"error"`
	Detail  string `json:"detail"`
	ID      string `json:"msg_id,omitempty"`
}

// messageIDs name errors for clients that translate them.
var messageIDs = map[fault.Kind]string{
	fault.NotFound:  "CONVERSATION$NOT_FOUND",
	fault.Denied:    "AUTHORIZATION$PERMISSION_DENIED",
	fault.RateLimit: "AGENT_ERROR$TOO_MANY_CONVERSATIONS",
}

// v0 answers with errors in V0's form. Violations of a form, and errors of the server other
// than that something is not available, are the same in all contracts.
func (s *Service) v0(h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if err == nil || errors.Is(err, rest.ErrBroken) {
			return err
		}
		if _, bad := errors.AsType[schema.Violations](err); bad {
			return err
		}
		kind := fault.KindOf(err)
		status := kind.HTTPStatus()
		if own, ok := errors.AsType[*rest.Error](err); ok {
			status = own.Status
		}
		if kind == fault.Unsupported {
			status = http.StatusBadRequest // the client asks for it
		}
		if kind != fault.Unavailable && status >= http.StatusInternalServerError || kind == fault.Canceled {
			return err
		}
		text := fault.Text(err)
		return rest.JSON(w, status, failure{"error", text, text, text, messageIDs[kind]})
	}
}

// owner returns whose request it is.
func owner(r *http.Request) identity.Tenant { return identity.CallerOf(r.Context()).Tenant() }

// pathID returns the conversation that a path names. An invalid id names none.
func pathID(r *http.Request) (event.ConversationID, error) {
	return parseID(r.PathValue("conversation_id"))
}

func parseID(text string) (event.ConversationID, error) {
	id, ok := event.ParseConversationID(text)
	if !ok {
		return "", fault.New(fault.NotFound, "the conversation does not exist")
	}
	return id, nil
}
