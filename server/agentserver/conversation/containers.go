package conversation

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
)

// Sandboxes are the sandboxes of conversations.
type Sandboxes interface {
	// SandboxStatus says how a conversation's sandbox is. NotFound if none runs.
	SandboxStatus(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Status, error)
	// SandboxStates returns the states of all conversations' sandboxes that run or are
	// paused.
	SandboxStates(ctx context.Context, p session.Placement) (map[event.ConversationID]sandbox.Status, error)
	// StopSandbox ends it, if one runs.
	StopSandbox(ctx context.Context, p session.Placement, id event.ConversationID) error
}

// Containers say which conversations get a container each
// (docs/openhands/sdk-wire-1.58.md section D).
type Containers struct {
	Sandboxes Sandboxes
	// Docker is the placement of conversations in containers, and Local the placement
	// of others.
	Docker, Local session.Placement
	// Default says that conversations get one whose request does not choose, and
	// Selectable that requests may choose.
	Default, Selectable bool
}

const (
	runtimeLocal  = "local"
	runtimeDocker = "docker"
)

// placement returns where the conversation of a request is to work, and the mistakes
// of the request.
func (s *Service) placement(asked *string) (session.Placement, schema.Violations) {
	c, usual := s.o.Containers, runtimeLocal
	if c != nil && c.Default {
		usual = runtimeDocker
	}
	runtime := usual
	if asked != nil {
		runtime = *asked
	}
	switch {
	case runtime != usual && (c == nil || !c.Selectable):
		return session.Placement{}, schema.Invalid("This server only runs "+usual+" conversations", runtime, "body", "conversation_runtime")
	case c == nil:
		return session.Placement{}, nil
	case runtime == runtimeDocker:
		return c.Docker, nil
	}
	return c.Local, nil
}

func (s *Service) getRuntime(w http.ResponseWriter, r *http.Request) error {
	id, err := s.existing(r)
	if err != nil {
		return err
	}
	p, ok, err := s.container(r.Context(), id)
	if err != nil {
		return err
	}
	if !ok {
		return rest.Bytes(w, http.StatusOK, view.RuntimeAvailable)
	}
	if archived, err := s.o.Sessions.Archived(r.Context(), id); err != nil {
		return unknown(err, id)
	} else if archived {
		return rest.Bytes(w, http.StatusOK, view.RuntimeArchived)
	}
	return rest.JSON(w, http.StatusOK, runtimeInfoOf(s.o.Containers.Sandboxes.SandboxStatus(r.Context(), p, id)))
}

// postReprovision starts the container of a conversation that has none.
func (s *Service) postReprovision(w http.ResponseWriter, r *http.Request) error {
	id, err := s.existing(r)
	if err != nil {
		return err
	}
	if _, ok, err := s.container(r.Context(), id); err != nil {
		return err
	} else if ok {
		c, err := s.o.Sessions.Get(r.Context(), id)
		if err == nil {
			err = c.Environment().Ready(r.Context())
		}
		if fault.Is(err, fault.Gone) {
			return err
		}
		if err != nil {
			return containerError("Could not start conversation container", err)
		}
	}
	return rest.Bytes(w, http.StatusOK, view.RuntimeAvailable)
}

// postCredentials answers with the key that the routes of the runtime take. Only the
// tools of a conversation are in its container, and this server answers for it, so that
// is the key that admitted this request: no other key, and none where none is needed.
func (s *Service) postCredentials(w http.ResponseWriter, r *http.Request) error {
	id, err := s.existing(r)
	if err != nil {
		return err
	}
	if archived, err := s.o.Sessions.Archived(r.Context(), id); err != nil {
		return unknown(err, id)
	} else if archived {
		return session.ErrArchived
	}
	key := r.Header.Get(rest.KeyHeader)
	if s.o.Keys == nil || !rest.Allowed(s.o.Keys(), key) {
		key = ""
	}
	w.Header().Set("Cache-Control", "no-store")
	return rest.JSON(w, http.StatusOK, map[string]string{"session_api_key": key})
}

// deleteRuntime ends the container. The conversation and its workspace stay, and the
// next use starts a fresh one.
func (s *Service) deleteRuntime(w http.ResponseWriter, r *http.Request) error {
	id, err := s.existing(r)
	if err != nil {
		return err
	}
	p, ok, err := s.container(r.Context(), id)
	if err != nil {
		return err
	}
	if !ok {
		return rest.Fail(http.StatusNotFound, "The conversation has no container")
	}
	err = s.o.Sessions.Release(r.Context(), id, func(ctx context.Context) error {
		return s.o.Containers.Sandboxes.StopSandbox(ctx, p, id)
	})
	switch {
	case fault.Is(err, fault.NotFound):
		return unknown(err, id)
	case fault.Is(err, fault.Conflict):
		return worded(err)
	case err != nil:
		return containerError("Could not release conversation runtime", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// existing returns the id in the path of a conversation that exists.
func (s *Service) existing(r *http.Request) (event.ConversationID, error) {
	id, err := pathID(r)
	if err != nil {
		return "", err
	}
	ok, err := s.o.Sessions.Exists(r.Context(), id)
	if err == nil && !ok {
		err = unknown(fault.New(fault.NotFound, "no conversation"), id)
	}
	return id, err
}

// container returns the placement of a conversation, and whether that is a container.
// Asking is no use of the conversation.
func (s *Service) container(ctx context.Context, id event.ConversationID) (session.Placement, bool, error) {
	if s.o.Containers == nil {
		return session.Placement{}, false, nil
	}
	p, err := s.o.Sessions.Placement(ctx, id)
	return p, err == nil && s.contained(p), unknown(err, id)
}

// containerError answers 503 where the engine does not answer, and 502 for all else
// that is wrong with a container.
func containerError(doing string, err error) error {
	status := http.StatusBadGateway
	if fault.Is(err, fault.Unavailable) {
		status = http.StatusServiceUnavailable
	}
	return rest.Fail(status, doing+": "+message(err))
}

// message is an error with the user's next step.
func message(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}
