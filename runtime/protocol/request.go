package protocol

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// request is the wire form of a [tool.Request] without its ID, which is in the
// path. It is not exported, so that nothing else encodes the secrets.
type request struct {
	Action  json.RawMessage   `json:"action,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Agent   string            `json:"agent,omitempty"`
	Again   bool              `json:"again,omitempty"`
	Tail    bool              `json:"tail,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
	Ack     []event.ID        `json:"ack,omitempty"`
}

// EncodeRequest returns the body of a request for an action. It holds the
// secrets as they are: send it, and do not show it. The error is of kind
// fault.Invalid.
func EncodeRequest(q tool.Request, ack []event.ID) ([]byte, error) {
	body := request{Tool: q.Tool, Agent: q.Agent, Again: q.Again, Tail: q.Tail, Secrets: q.Secrets, Ack: ack}
	if q.Action != nil {
		raw, err := event.MarshalAction(q.Action)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the action has no JSON")
		}
		body.Action = raw
	}
	raw, err := json.Marshal(body)
	return raw, fault.Wrap(err, fault.Invalid, "the action has no JSON")
}

// DecodeRequest reads the body of a request for the action id, and the ids
// that it acknowledges. The error is of kind fault.Invalid.
func DecodeRequest(id event.ID, raw []byte) (q tool.Request, ack []event.ID, err error) {
	var body request
	if err := json.Unmarshal(raw, &body); err != nil {
		return q, nil, fault.Wrap(err, fault.Invalid, "the request is not the JSON it should be")
	}
	action, err := event.UnmarshalAction(body.Action)
	if err != nil {
		return q, nil, err
	}
	q = tool.Request{
		Call:  tool.Call{ID: id, Action: action, Tool: body.Tool, Agent: body.Agent, Secrets: body.Secrets},
		Again: body.Again, Tail: body.Tail,
	}
	return q, body.Ack, nil
}
