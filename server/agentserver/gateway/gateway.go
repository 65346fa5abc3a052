// Package gateway serves OpenAI's API over agents: a model is an LLM profile, and an
// answer is the agent's final message
// (docs/openhands/sdk-wire.md section 10, docs/openhands/sdk-wire-1.58.md
// section C.5).
//
// # Usage
//
//	g := gateway.New(gateway.Options{Models: profileNames, Start: start, Find: find})
//	routes = append(routes, g.Routes()...)
//
//	client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key=sessionKey)
//	client.chat.completions.create(model="openhands_default", messages=[...])
//
// Each request makes a conversation. A client that sends the id in
// X-OpenHands-ServerConversation-ID continues that conversation.
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. A request waits until the run ends, 120
// seconds at most. Errors have both the reference's "detail" and OpenAI's "error".
// With stream, the final text is sent as events once it is complete, so that errors
// keep their status.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// IDHeader has the id of a conversation, in requests and answers.
const IDHeader = "X-OpenHands-ServerConversation-ID"

// Prefix begins the names of models; the name of an LLM profile follows.
const Prefix = "openhands_"

// DefaultTimeout is how long a client waits for the agent.
const DefaultTimeout = 120 * time.Second

// maxSystem bounds the system text in characters (docs/openhands/sdk-wire.md
// section 5.1).
const maxSystem = 32768

// Usage is the whole usage of a conversation.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// Outcome is the state of a conversation after its run.
type Outcome struct {
	// Status is the execution_status of docs/openhands/sdk-wire.md section 5.3.
	Status string
	// Text is the agent's final message.
	Text  string
	Usage Usage
}

// Conversation is the gateway's view of a conversation.
type Conversation interface {
	// ID is the id with dashes.
	ID() string
	// Send stores a message of the user and runs the agent.
	Send(ctx context.Context, content []event.Content) error
	// Wait returns when nothing runs, or the error of ctx.
	Wait(ctx context.Context) error
	// Outcome returns its state.
	Outcome(ctx context.Context) (Outcome, error)
}

// Request asks for a conversation.
type Request struct {
	// Profile is the name of the LLM profile.
	Profile string
	// System is added to the agent's system prompt.
	System string
	// Content is the first message; the agent runs.
	Content []event.Content
	// ID is the conversation's id with dashes; "" for a new one.
	ID string
}

// Options configure the gateway.
type Options struct {
	// Models returns the names of the LLM profiles.
	Models func(ctx context.Context) ([]string, error)
	// Check returns an error of kind fault.NotFound if there is no profile of
	// a name.
	Check func(ctx context.Context, profile string) error
	// Start makes a conversation of the active agent profile and runs it.
	Start func(ctx context.Context, r Request) (Conversation, error)
	// Find returns a conversation by its id with dashes, or an error of kind
	// fault.NotFound.
	Find func(ctx context.Context, id string) (Conversation, error)
	// Timeout is how long a request waits; 0 takes DefaultTimeout.
	Timeout time.Duration
}

// Service is the gateway.
type Service struct{ o Options }

// New returns a gateway.
func New(o Options) *Service {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return &Service{o}
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const tag = "OpenAI Compatibility"
	return []rest.Route{
		{Method: "GET", Path: "/v1/models", Tag: tag, Carrier: rest.Bearer, Scope: rest.Sandbox, Handle: withOpenAIError(s.models)},
		{Method: "POST", Path: "/v1/chat/completions", Tag: tag, Carrier: rest.Bearer, Scope: rest.Sandbox, Handle: withOpenAIError(s.chat)},
		{Method: "POST", Path: "/v1/responses", Tag: tag, Carrier: rest.Bearer, Scope: rest.Sandbox, Handle: withOpenAIError(s.responses)},
	}
}

// model is an entry of /v1/models.
type model struct {
	ID      string `json:"id"`
	Created int    `json:"created"`
	Object  string `json:"object"`
	OwnedBy string `json:"owned_by"`
}

func (s *Service) models(w http.ResponseWriter, r *http.Request) error {
	names, err := s.o.Models(r.Context())
	if err != nil {
		return err
	}
	list := make([]model, 0, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		list = append(list, model{ID: Prefix + name, Object: "model", OwnedBy: "openhands"})
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

// ask lets a conversation answer: the one with the id, or a new one.
func (s *Service) ask(ctx context.Context, modelName string, req Request) (id string, out Outcome, err error) {
	var ok bool
	if req.Profile, ok = strings.CutPrefix(modelName, Prefix); !ok || req.Profile == "" {
		return "", out, rest.Fail(http.StatusNotFound, "Unknown OpenHands model '"+modelName+"'. Use GET /v1/models.")
	}
	if len([]rune(req.System)) > maxSystem {
		return "", out, rest.Fail(http.StatusBadRequest, "System instructions are too long")
	}
	if err := s.o.Check(ctx, req.Profile); err != nil {
		return "", out, err
	}
	limited, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	c, err := s.begin(limited, req)
	if err == nil {
		if err = c.Wait(limited); err == nil {
			out, err = c.Outcome(limited)
		}
	}
	switch {
	case ctx.Err() != nil: // the client has left; the agent goes on
		return "", out, rest.ErrBroken
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		return "", out, &rest.Error{Status: http.StatusGatewayTimeout, Detail: "Agent run timed out"}
	case err != nil:
		return "", out, err
	}
	return c.ID(), out, out.err()
}

// begin sends the message, even if the client leaves meanwhile.
func (s *Service) begin(ctx context.Context, req Request) (Conversation, error) {
	ctx = context.WithoutCancel(ctx)
	if req.ID != "" {
		c, err := s.o.Find(ctx, req.ID)
		if err == nil {
			return c, c.Send(ctx, req.Content)
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return s.o.Start(ctx, req)
}

// err returns why a conversation has no answer.
func (o Outcome) err() error {
	said := "Agent run ended with status: " + o.Status
	switch o.Status {
	case "finished":
		return nil
	case "paused", "waiting_for_confirmation":
		return rest.Fail(http.StatusConflict, said)
	}
	return &rest.Error{Status: http.StatusInternalServerError, Detail: said}
}

// conversationID reads the id of the header, with dashes.
func conversationID(r *http.Request) (string, error) {
	sent := r.Header.Get(IDHeader)
	if sent == "" {
		return "", nil
	}
	h, wrong := schema.ParseUUID(sent, "header", IDHeader)
	if wrong != nil {
		return "", wrong
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
