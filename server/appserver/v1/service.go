// Package v1 serves the App Server's routes of conversations, start tasks, sandboxes and
// events below /api/v1 (docs/openhands/app-server.md section 2 and the contract of
// OpenHands' cloud), thin over packages conversations and sandboxes.
//
// # Usage
//
//	s := v1.New(v1.Options{Conversations: conversations, Sandboxes: sandboxes, URL: baseURL})
//	routes := s.Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Callers must be authenticated (package identity),
// but for the routes of shared conversations. What belongs to another owner is answered
// as if it did not exist.
package v1

import (
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
)

// Options say what a Service works with. All are required.
type Options struct {
	Conversations *conversations.Service
	Sandboxes     *sandboxes.Service
	// URL is where the client of a request reaches this server, without a last slash.
	URL func(r *http.Request) string
	// Spec describes the one sandbox specification.
	Spec Spec
	// Network reads the network that a task asks for.
	Network func(text string) (sandbox.Network, error)
	// Isolations say what is in force of isolation.
	Isolations Isolations
	// Skills returns the public and the user's skills, always in the same order, and warnings about
	// files of the user that are none.
	Skills func() ([]skill.Listed, []skill.Warning)
	// Download writes a conversation's events and description as a zip file.
	Download func(w http.ResponseWriter, r *http.Request, id event.ConversationID) error
	Log      *slog.Logger
	// Dir is the server's directory, Data that of conversations' data and Home the home of its user:
	// shared conversations do not show where they are.
	Dir, Data, Home string
}

// Service has the routes.
type Service struct {
	o      Options
	paths  hostPaths
	trying sync.Mutex // held while a sandbox is tried
}

// New returns a service.
func New(o Options) *Service { return &Service{o: o, paths: dataPaths(o.Dir, o.Data, o.Home)} }

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const base, one = "/api/v1/app-conversations", "/api/v1/app-conversations/{conversation_id}"
	r := func(tag, method, path string, h rest.Valued) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: tag, Scope: rest.Account, Handle: rest.Value(h)}
	}
	made := func(path string, h rest.Valued) rest.Route {
		return rest.Route{Method: "POST", Path: path, Tag: "Conversations", Scope: rest.Account, Handle: rest.Created(h)}
	}
	recorded := func(path string, most int64, take take) rest.Route {
		out := rest.Costly(made(path, func(r *http.Request) (any, error) { return s.recorded(r, take) }))
		out.Limit = most
		return out
	}
	by := func(h func(*http.Request, reads) (any, error), whose reads) rest.Valued {
		return func(r *http.Request) (any, error) { return h(r, whose) }
	}
	return append(s.webhooks(), []rest.Route{
		r("Conversations", "GET", base+"/search", s.search),
		r("Conversations", "GET", base+"/count", s.count),
		r("Conversations", "GET", base, s.batch),
		rest.Costly(r("Conversations", "POST", base, s.start)),
		{Method: "POST", Path: base + "/stream-start", Tag: "Conversations", Costly: true, Scope: rest.Account, Handle: s.streamStart},
		r("Conversations", "GET", base+"/start-tasks/search", s.searchTasks),
		r("Conversations", "GET", base+"/start-tasks/count", s.countTasks),
		r("Conversations", "GET", base+"/start-tasks", s.batchTasks),
		r("Conversations", "PATCH", one, s.patch),
		r("Conversations", "DELETE", one, s.delete),
		r("Conversations", "POST", one+"/send-message", s.sendMessage),
		r("Conversations", "GET", one+"/callbacks", s.callbacks),
		r("Conversations", "GET", one+"/callbacks/results", s.callbackResults),
		made(one+"/fork", s.fork),
		r("Conversations", "POST", one+"/undo", s.undo),
		r("Conversations", "GET", one+"/checkpoint", s.checkpoint),
		rest.Costly(r("Conversations", "POST", one+"/resume", s.resume)),
		r("Conversations", "GET", one+"/isolation", s.isolation),
		rest.Costly(r("Sandboxes", "POST", "/api/v1/sandbox-specs/try", s.tryIsolation)),
		made(base+"/demo", s.demo),
		recorded(base+"/import", maxImported, s.o.Conversations.Import),
		recorded(base+"/replay", maxReplayed, s.o.Conversations.Replay),
		r("Conversations", "POST", one+"/switch_profile", s.switchProfile),
		r("Conversations", "POST", one+"/switch_acp_model", s.switchACPModel),
		r("Conversations", "GET", one+"/file", s.file),
		r("Conversations", "GET", one+"/files", s.tree),
		r("Conversations", "GET", one+"/git/changes", s.gitChanges),
		r("Conversations", "GET", one+"/git/diff", s.gitDiff),
		rest.Costly(r("Conversations", "POST", one+"/git/push", s.push)),
		made(one+"/git/pull-request", s.pullRequest),
		r("Conversations", "GET", one+"/skills", rest.Worded(s.skills)),
		r("Conversations", "GET", one+"/hooks", rest.Worded(s.hooks)),
		{Method: "GET", Path: one + "/download", Tag: "Conversations", Costly: true, Scope: rest.Account, Handle: s.download},
		made("/api/v1/conversations/{conversation_id}/pending-messages", s.pendingMessage),
		rest.Compressed(r("Events", "GET", "/api/v1/conversation/{conversation_id}/events/search", by(s.searchEvents, ownEvents))),
		r("Events", "GET", "/api/v1/conversation/{conversation_id}/events/count", by(s.countEvents, ownEvents)),
		rest.Compressed(r("Events", "GET", "/api/v1/conversation/{conversation_id}/events", by(s.batchEvents, ownEvents))),
		r("Events", "GET", "/api/v1/conversation/{conversation_id}/events/place", by(s.placeEvent, ownEvents)),
		r("Conversations", "GET", "/api/v1/directories", s.directories),
		r("Sandboxes", "GET", "/api/v1/sandboxes/search", s.searchSandboxes),
		r("Sandboxes", "GET", "/api/v1/sandboxes", s.batchSandboxes),
		rest.Costly(r("Sandboxes", "POST", "/api/v1/sandboxes", s.createSandbox)),
		r("Sandboxes", "POST", "/api/v1/sandboxes/{id}/pause", s.pauseSandbox),
		r("Sandboxes", "POST", "/api/v1/sandboxes/{id}/resume", s.resumeSandbox),
		r("Sandboxes", "DELETE", "/api/v1/sandboxes/{id}", s.deleteSandbox),
		r("Sandboxes", "GET", "/api/v1/sandbox-specs/search", s.searchSpecs),
		r("Sandboxes", "GET", "/api/v1/sandbox-specs", s.batchSpecs),
		r("Skills", "GET", "/api/v1/skills/search", s.searchSkills),
		rest.Costly(r("Skills", "POST", "/api/v1/skills/marketplace-skills", s.previewMarketplaces)),
		shared("/api/shared-conversations", rest.Value(s.sharedConversations)),
		rest.Compressed(shared("/api/shared-events/search", rest.Value(by(s.searchEvents, s.sharedEvents)))),
		shared("/api/shared-events/count", rest.Value(by(s.countEvents, s.sharedEvents))),
		rest.Compressed(shared("/api/shared-events", rest.Value(by(s.batchEvents, s.sharedEvents)))),
		shared("/api/shared-events/place", rest.Value(by(s.placeEvent, s.sharedEvents))),
		shared("/api/shared-events/{conversation_id}/{event_id}", s.sharedEvent),
	}...)
}

// shared routes need no key.
func shared(path string, h rest.Handler) rest.Route {
	return rest.Route{Method: "GET", Path: path, Tag: "Shared", Scope: rest.Public, Limit: rest.NoBody, Handle: h}
}

// directories answers with the directories of this machine that are offered.
func (s *Service) directories(r *http.Request) (any, error) {
	return s.o.Conversations.Directories(r.Context(), owner(r))
}

// owner returns whose request it is.
func owner(r *http.Request) identity.Tenant { return identity.CallerOf(r.Context()).Tenant() }

// pathID returns the conversation that a path names.
func pathID(r *http.Request) (event.ConversationID, error) {
	return parseID(r.PathValue("conversation_id"), "path", "conversation_id")
}

func parseID(text string, loc ...any) (event.ConversationID, error) {
	id, ok := event.ParseConversationID(text)
	if !ok {
		return "", schema.Invalid("Input should be a valid UUID", text, loc...)
	}
	return id, nil
}

// ids returns the conversations that a query names, "" for what is no id.
func ids(q *rest.Query, name string) (out []event.ConversationID) {
	for _, text := range q.All(name) {
		id, _ := event.ParseConversationID(text)
		out = append(out, id)
	}
	return out
}

// onlyIDs is ids, with the contract's refusal of what is no id.
func onlyIDs(q *rest.Query, name string) ([]event.ConversationID, error) {
	out := ids(q, name)
	var wrong []string
	for i, text := range q.All(name) {
		if out[i] == "" {
			wrong = append(wrong, "'"+text+"'")
		}
	}
	if wrong != nil {
		return nil, rest.Fail(http.StatusBadRequest, "Invalid UUID format for "+name+": ["+strings.Join(wrong, ", ")+"]")
	}
	return out, nil
}

// mostIDs is how many members of a list can be asked for by id.
const mostIDs = 100

func tooMany(n int, name string) error {
	if n > mostIDs {
		return schema.Invalid("Too many ids requested. Maximum is "+strconv.Itoa(mostIDs), n, "query", name)
	}
	return nil
}

// missing answers for a conversation that does not exist.
func missing(err error, what string) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, what+" not found")
	}
	return err
}

// port returns the port of a URL.
func port(base string) int {
	u, err := url.Parse(base)
	if err != nil {
		return 0
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
