// Package vscode serves the routes of VS Code: whether the sandbox of a conversation has it, and
// where it is.
//
// # Usage
//
//	routes = slices.Concat(routes, vscode.Routes(vscode.Options{Find: …, Editor: …}))
//
// Without an Editor the answers are the reference's where VS Code is switched off. With one,
// asking for the address starts it, where the reference does so with its sandbox.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A conversation that does not exist is answered with 404, a
// sandbox without VS Code with 503 and the reason. A [Server] has what it started until Close.
package vscode

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
)

// Editor is VS Code of sandboxes. Conversations have their ids of 32 hexadecimal digits; the
// empty one is the newest.
type Editor interface {
	// State reports whether the sandbox has it, and whether it runs. NotFound and Unsupported
	// say why there can be none.
	State(ctx context.Context, conversation string) (has, runs bool, err error)
	// Open starts it, unless it runs, and returns where the client of a request reaches it.
	Open(r *http.Request, conversation string) (url string, err error)
}

// Options configure the answers.
type Options struct {
	// Find returns an error if there is no conversation with this id, 32 hexadecimal digits.
	// The error is the answer.
	Find func(ctx context.Context, id string) error
	// Editor is nil where VS Code is switched off.
	Editor Editor
}

// Routes returns the operations, for the newest conversation and for one that the path names.
func Routes(o Options) []rest.Route {
	const tag, scope = "VSCode", workspacescope.Prefix + "/vscode"
	newest := func(h handler) rest.Handler {
		return func(w http.ResponseWriter, r *http.Request) error { return h(w, r, "") }
	}
	off := o.Editor == nil
	return []rest.Route{
		{Method: "GET", Path: "/api/vscode/status", Tag: tag, Scope: rest.Sandbox, Handle: newest(o.status), Unsupported: off},
		{Method: "GET", Path: "/api/vscode/url", Tag: tag, Scope: rest.Sandbox, Handle: newest(o.url), Unsupported: off},
		{Method: "GET", Path: scope + "/status", Tag: tag, Scope: rest.Sandbox, Handle: o.scoped(o.status), Unsupported: off},
		{Method: "GET", Path: scope + "/url", Tag: tag, Scope: rest.Sandbox, Handle: o.scoped(o.url), Unsupported: off},
	}
}

type handler func(w http.ResponseWriter, r *http.Request, conversation string) error

// scoped looks for the conversation first.
func (o Options) scoped(h handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathUUID(r, workspacescope.IDParam)
		if err != nil {
			return err
		}
		if err := o.Find(r.Context(), id); err != nil {
			return err
		}
		return h(w, r, id)
	}
}

func (o Options) status(w http.ResponseWriter, r *http.Request, conversation string) error {
	var out struct {
		Running bool    `json:"running"`
		Enabled bool    `json:"enabled"`
		Message *string `json:"message"`
	}
	say := func(text string) { out.Message = &text }
	if o.Editor == nil {
		say("VSCode is disabled in configuration")
		return rest.JSON(w, http.StatusOK, out)
	}
	var err error
	switch out.Enabled, out.Running, err = o.Editor.State(r.Context(), conversation); {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported):
		say(err.Error())
	case err != nil:
		return err
	case !out.Enabled:
		say("the sandbox has no VS Code")
	}
	return rest.JSON(w, http.StatusOK, out)
}

func (o Options) url(w http.ResponseWriter, r *http.Request, conversation string) error {
	if o.Editor == nil {
		return rest.Off(w, http.StatusServiceUnavailable, "503: VSCode is disabled in configuration. Set enable_vscode=true to enable.")
	}
	at, err := o.Editor.Open(r, conversation)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported), fault.Is(err, fault.Conflict):
		return rest.Off(w, http.StatusServiceUnavailable, "503: "+err.Error())
	case err != nil:
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"url": at})
}
