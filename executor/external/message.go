package external

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Version is the version of the protocol.
const Version = 1

const (
	methodInit      = "init"
	methodExecute   = "execute"
	methodInterrupt = "interrupt"
	methodClose     = "close"
	methodProgress  = "progress"
)

const (
	maxLine  = 16 << 20  // bytes of one message of the program
	maxOffer = 512 << 10 // of the answer to init
	maxKinds = 256
	maxTools = 128
)

// message is one line in either direction: a request has ID and Method, a
// notification only Method, an answer ID and Result or Error.
type message struct {
	ID     *int64          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *refusal        `json:"error,omitempty"`
}

// refusal is an error that the program answers.
type refusal struct {
	Message string `json:"message"`
}

func (r *refusal) Error() string { return "the program says: " + r.Message }

type initParams struct {
	Protocol    int      `json:"protocol"`
	Workspace   string   `json:"workspace"`
	Environment []string `json:"environment"` // names
}

type executeParams struct {
	ID     event.ID        `json:"id"`
	Tool   string          `json:"tool,omitempty"`
	Action json.RawMessage `json:"action"`
	// Secrets are in clear, unlike the secrets of a [tool.Call].
	Secrets map[string]string `json:"secrets,omitempty"`
}

type interruptParams struct {
	ID event.ID `json:"id"`
}

type progressParams struct {
	ID   event.ID `json:"id"`
	Text string   `json:"text"`
}

// offer is a program's answer to init.
type offer struct {
	Protocol int             `json:"protocol"`
	Actions  []string        `json:"actions"`
	Tools    []tool.External `json:"tools"`
}

// readOffer reads and checks the answer to init. Reserved kinds of actions are
// refused. Errors are of kind fault.Invalid.
func readOffer(raw json.RawMessage, reserved []string) (o offer, err error) {
	if len(raw) > maxOffer {
		return o, fault.New(fault.Invalid, fmt.Sprintf("its answer to init has %d bytes; at most %d are allowed", len(raw), maxOffer))
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return o, fault.Wrap(err, fault.Invalid, "its answer to init cannot be read")
	}
	if o.Protocol != Version {
		return o, fault.New(fault.Invalid, fmt.Sprintf("it speaks version %d of the protocol, this program version %d", o.Protocol, Version)).
			Hint("the answer to init has protocol and actions; see docs/executors.md")
	}
	if len(o.Actions) > maxKinds || len(o.Tools) > maxTools {
		return o, fault.New(fault.Invalid, fmt.Sprintf("it names %d actions and %d tools; at most %d and %d are allowed",
			len(o.Actions), len(o.Tools), maxKinds, maxTools))
	}
	names := map[string]bool{}
	for i := range o.Tools {
		t := &o.Tools[i]
		if err := t.Complete(); err != nil {
			return o, err
		}
		if names[t.Name] {
			return o, fault.New(fault.Invalid, "it has two tools called "+t.Name)
		}
		names[t.Name] = true
	}
	if len(o.kinds()) == 0 {
		return o, fault.New(fault.Invalid, "it names no action").
			Hint(`the answer to init has "actions", the kinds of actions that it handles, or "tools"`)
	}
	for _, kind := range o.kinds() {
		if kind == "" || len(kind) > 100 {
			return o, fault.New(fault.Invalid, fmt.Sprintf("%.100q is not a kind of action", kind))
		}
		if slices.Contains(reserved, kind) {
			return o, fault.New(fault.Invalid, "it names "+kind+", which no executor gets: Deft does it beside the agent")
		}
	}
	return o, nil
}

// kinds are the actions that the program handles, including the actions of its
// tools, sorted.
func (o offer) kinds() []string {
	kinds := slices.Clone(o.Actions)
	for _, t := range o.Tools {
		kinds = append(kinds, t.ActionKind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
