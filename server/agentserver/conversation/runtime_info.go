package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
)

// runtimeInfo is the runtime_info of a conversation.
type runtimeInfo struct {
	Status    string        `json:"runtime_status"`
	CanResume bool          `json:"can_resume"`
	Error     *runtimeError `json:"runtime_error"`
	// Sandbox is the state of the container, "running" or "paused"; the contract has
	// no such field.
	Sandbox sandbox.State `json:"sandbox_state,omitempty"`
}

type runtimeError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// runtimeInfoOf describes a container. err is the error of looking for it.
func runtimeInfoOf(status sandbox.Status, err error) runtimeInfo {
	info := runtimeInfo{Status: "available", CanResume: true, Sandbox: status.State}
	switch {
	case fault.Is(err, fault.NotFound), err == nil && status.State == sandbox.Ended:
		info.Status, info.Sandbox = "missing", ""
		if text := status.Reason.Message; text != "" {
			info.Error = &runtimeError{string(status.Reason.Cause), text}
		}
	case err != nil:
		info.Status, info.Sandbox, info.Error = "error", "", &runtimeError{string(fault.KindOf(err)), message(err)}
	}
	return info
}

// listTimeout bounds how long a list of conversations waits for the engine.
const listTimeout = 3 * time.Second

// describeContainers replaces the runtime_info of those descriptions whose
// conversations, ids, have a container each. The engine is asked once.
func (s *Service) describeContainers(ctx context.Context, items []json.RawMessage, ids []event.ConversationID) error {
	if s.o.Containers == nil {
		return nil
	}
	var states map[event.ConversationID]sandbox.Status
	var failed error
	for i, raw := range items {
		p, err := s.o.Sessions.Placement(ctx, ids[i])
		switch {
		case fault.Is(err, fault.NotFound) || err == nil && !s.contained(p):
			continue
		case err != nil:
			return err
		case states == nil && failed == nil:
			limited, cancel := context.WithTimeoutCause(ctx, listTimeout, errSlowEngine)
			states, failed = s.o.Containers.Sandboxes.SandboxStates(limited, p)
			if failed != nil && errors.Is(context.Cause(limited), errSlowEngine) {
				failed = errSlowEngine
			}
			cancel()
		}
		status, running := states[ids[i]]
		err = failed
		if err == nil && !running {
			err = fault.New(fault.NotFound, "no container runs")
		}
		info, err := json.Marshal(runtimeInfoOf(status, err))
		if err != nil {
			return err
		}
		const field = `"runtime_info":` // the last one of a description
		if described, ok := bytes.CutSuffix(raw, append([]byte(field), string(view.RuntimeAvailable)+"}"...)); ok {
			items[i] = append(append(append(bytes.Clone(described), field...), info...), '}')
		}
	}
	return nil
}

var errSlowEngine = fault.New(fault.Unavailable, "the container engine does not answer").Hint("`docker info` tells more")

// contained reports whether conversations of a placement get a container each.
func (s *Service) contained(p session.Placement) bool {
	return s.o.Containers != nil && p.SandboxClass == s.o.Containers.Docker.SandboxClass
}
