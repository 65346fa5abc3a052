package v0event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Request is a client's request in the form of a V0 event.
type Request struct {
	// Message is a message to the agent, which then runs; nil for none.
	Message []event.Content
	// State is the agent state that the client wants; "" for none.
	State State
}

// State is an agent state that a client may ask for.
type State string

// The states that mean something to do.
const (
	Pause   State = "paused"
	Run     State = "running"
	Stop    State = "stopped"
	Confirm State = "user_confirmed"
	Reject  State = "user_rejected"
)

// maxImages is how many images a message may have.
const maxImages = 100

// Parse reads an event of a client: a message, a change of the agent's state, or init,
// which asks for nothing. Invalid for anything else, Unsupported for other actions:
// they are the agent's.
func Parse(raw []byte) (Request, error) {
	var in struct {
		Action      *string         `json:"action"`
		Observation json.RawMessage `json:"observation"`
		Args        json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Request{}, fault.New(fault.Invalid, "the event is not a JSON object with an action")
	}
	if in.Action == nil {
		if in.Observation != nil {
			return Request{}, fault.New(fault.Unsupported, "observations are not taken from clients")
		}
		return Request{}, fault.New(fault.Invalid, "the event has no action")
	}
	switch *in.Action {
	case "init", "null":
		return Request{}, nil
	case "message":
		return parseMessage(in.Args)
	case "change_agent_state":
		return parseState(in.Args)
	}
	return Request{}, fault.New(fault.Unsupported, fmt.Sprintf("the action %.60q is not taken from clients", *in.Action)).
		Hint("a client sends message or change_agent_state")
}

func parseMessage(raw json.RawMessage) (Request, error) {
	var args struct {
		Content   *string  `json:"content"`
		Images    []string `json:"image_urls"`
		OldImages []string `json:"images_urls"`
		Files     []string `json:"file_urls"`
	}
	if err := unmarshalArgs(raw, &args); err != nil {
		return Request{}, err
	}
	if args.Content == nil {
		return Request{}, fault.New(fault.Invalid, "the message has no content")
	}
	text := *args.Content
	var files []string
	for _, f := range args.Files { // OpenHands' page has them in the text, too
		if !strings.Contains(text, f) {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		text = strings.TrimLeft(text+"\n\nUploaded files:\n"+strings.Join(files, "\n"), "\n")
	}
	images := append(args.Images, args.OldImages...)
	if len(images) > maxImages {
		return Request{}, fault.New(fault.Invalid, fmt.Sprintf("the message has more than %d images", maxImages))
	}
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		return Request{}, fault.New(fault.Invalid, "the message is empty")
	}
	out := Request{Message: []event.Content{event.Text(text)}}
	for _, url := range images {
		if !strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
			return Request{}, fault.New(fault.Invalid, "an image is a data: or https: URL")
		}
	}
	if len(images) > 0 {
		out.Message = append(out.Message, event.Image(images...))
	}
	return out, nil
}

func parseState(raw json.RawMessage) (Request, error) {
	var args struct {
		State State `json:"agent_state"`
	}
	if err := unmarshalArgs(raw, &args); err != nil {
		return Request{}, err
	}
	switch args.State {
	case Pause, Run, Stop, Confirm, Reject:
		return Request{State: args.State}, nil
	}
	return Request{}, fault.New(fault.Invalid, fmt.Sprintf("a client cannot ask for the agent state %.60q", string(args.State)))
}

func unmarshalArgs(raw json.RawMessage, args any) error {
	if raw == nil {
		return fault.New(fault.Invalid, "the event has no args")
	}
	err := json.Unmarshal(raw, args)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fault.New(fault.Invalid, fmt.Sprintf("args.%s cannot be of the type %s", wrong.Field, wrong.Value))
	}
	if err != nil {
		return fault.New(fault.Invalid, "the args of the event are not a JSON object")
	}
	return nil
}
