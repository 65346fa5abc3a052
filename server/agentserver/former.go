package agentserver

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Former is for a page that speaks an earlier version of the contract. It is known by its
// socket: it asks for the history by "resend_all" and has the key in the address. (Clients
// of today have "resend_mode" there, or send the key in the first frame.)
type Former struct {
	// Page reports whether a request may be of such a page.
	Page func(r *http.Request) bool
	// Event and Message are as in [socket.Former].
	Event   func(raw []byte) []byte
	Message func(raw []byte, dir string) []byte
}

// socket says how sockets tell such a page.
func (f *Former) socket() socket.Former {
	if f == nil {
		return socket.Former{}
	}
	return socket.Former{
		Is:    func(r *http.Request) bool { return r.URL.Query().Has("session_api_key") && f.Page(r) },
		Event: f.Event, Message: f.Message,
	}
}

// former changes the routes that such a page needs in another way.
type former struct {
	*Former
	scope *session.Scope
	// top reports whether a directory that a client names is the sandbox's workspace.
	top func(dir string) bool
	// follows returns how many such pages follow a conversation.
	follows func(event.ConversationID) int
}

const pause = "/api/conversations/{conversation_id}/pause"

func (f former) routes(all []rest.Route) []rest.Route {
	if f.Former == nil {
		return all
	}
	all = slices.Clone(all)
	interrupt := slices.IndexFunc(all, func(r rest.Route) bool { return r.Path == strings.TrimSuffix(pause, "pause")+"interrupt" })
	for i, r := range all {
		switch r.Path {
		case pause:
			all[i].Handle = f.stop(r.Handle, all[interrupt].Handle)
		case "/api/git/changes/{path...}", "/api/git/diff/{path...}": // of this page only: others have the path in the query
			all[i].Handle = f.settled(r.Handle)
		case "/api/file/upload/{path...}":
			all[i].Handle = f.seen(r.Handle)
		}
	}
	return all
}

// stop stops the command that runs, too, for a page that has no other button: there was
// nothing else to ask for than a pause.
func (f former) stop(pause, interrupt rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if id, ok := event.ParseConversationID(r.PathValue("conversation_id")); ok && f.follows(id) > 0 && f.Page(r) {
			return interrupt(w, r)
		}
		return pause(w, r)
	}
}

// settleTime is how long a request about changes waits for the agent's action to end.
const settleTime = 10 * time.Second

// settled answers when no action in the sandbox is at work, or after settleTime: the page
// asks for changes when an action begins, and not again when it has ended.
func (f former) settled(answer rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), settleTime)
		defer cancel()
		running, err := f.scope.Infos(ctx, eventstream.ListQuery{Status: string(state.Running)})
		if err != nil {
			return err
		}
		for _, info := range running.Infos {
			if err := f.scope.Settle(ctx, info.ID); err != nil {
				return err
			}
		}
		return answer(w, r)
	}
}

// seen puts a file that the page uploads where the agent of the conversation that it shows
// works. The page names the directory above, of which the agent sees nothing.
func (f former) seen(upload rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		dir, name := path.Split("/" + r.PathValue("path"))
		if !f.top(path.Clean(dir)) || !f.Page(r) {
			return upload(w, r)
		}
		page, err := f.scope.Infos(r.Context(), eventstream.ListQuery{})
		if err != nil {
			return err
		}
		shown := slices.IndexFunc(page.Infos, func(i eventstream.Info) bool { return f.follows(i.ID) > 0 })
		if shown < 0 {
			return upload(w, r)
		}
		c, err := f.scope.Get(r.Context(), page.Infos[shown].ID)
		if err != nil {
			return err
		}
		r.SetPathValue("path", strings.TrimPrefix(path.Join(c.Workspace(), name), "/"))
		return upload(w, r)
	}
}
