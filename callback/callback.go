// Package callback defines event callbacks of a conversation: a [Processor] that the App
// Server calls for the conversation's events, and the kinds of processors that a start
// request can name.
//
// # Usage
//
//	func init() {
//		callback.Register("AcmeCallbackProcessor", callback.Kind{
//			Events: "MessageEvent",
//			New:    func(document json.RawMessage) (callback.Processor, error) { … },
//		})
//	}
//
// A package of another module that does so is linked in by `deft build --with`. A start
// request then has "processors": [{"kind": "AcmeCallbackProcessor", …}].
//
// # Concurrency
//
// Register and New may be called from any number of goroutines. Processors are made for
// each use and called by one goroutine at a time; the events of a conversation come in
// their order.
//
// # Failure
//
// An error of kind Unavailable, Timeout or RateLimit has the event processed again later,
// after growing pauses; any other one, and a panic, is recorded, and the next event follows.
// Each event has exactly one record. A server that is killed between the effect of a
// processor and its record processes the event again, with the same [Call.Key].
package callback

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/llm"
)

// Processor does something with events.
type Processor interface {
	// Process handles one event, until ctx ends.
	Process(ctx context.Context, c Call) (Outcome, error)
}

// Call is an event for a processor.
type Call struct {
	// Callback is the id of the callback, and Key the id of the call: the same when the
	// event is processed again, for services that take such keys.
	Callback, Key string
	Conversation  event.ConversationID
	Event         event.Event
	Services      Services
	Log           *slog.Logger
}

// Services are the server's services for a processor, in the name of the owner of its
// conversation.
type Services interface {
	// Token returns the owner's token of a Git host, as github, and the host's name if it is
	// not the public one. Auth if there is none. It must not be stored, logged or recorded.
	Token(ctx context.Context, provider string) (token llm.Secret, host string, err error)
	// Forge returns the Git host of a repository with the owner's token, and the repository's
	// full name there. Auth if there is no token for it.
	Forge(ctx context.Context, provider, repository string) (host forge.Host, name string, err error)
	// Ask returns the agent's answer to a question about the conversation, such as for a
	// summary. The question and the answer are no part of the conversation.
	Ask(ctx context.Context, question string) (answer string, err error)
	// Send sends a message to the agent, which works on it.
	Send(ctx context.Context, text string) error
}

// Outcome is the result of a processor.
type Outcome struct {
	// Nothing says that the event was none for the processor: it gets no record.
	Nothing bool
	// Detail is recorded, at most 4 KiB of it. It must not have a secret.
	Detail string
	// Done says that the callback has reached its end: it gets no further event.
	Done bool
}

// Kind makes the processors of one kind.
type Kind struct {
	// Events is the kind of the events that processors get; "" for all.
	Events string
	// New makes a processor from its document, whose "kind" names the registration. The
	// document is stored sealed. A wrong one is an error of kind Invalid.
	New func(document json.RawMessage) (Processor, error)
}

var kinds = struct {
	sync.Mutex
	all map[string]Kind
}{all: map[string]Kind{"LoggingCallbackProcessor": {New: newLogging}}}

// Register adds a kind of processors. It is for init functions. A kind that is there
// already is replaced.
func Register(name string, k Kind) {
	kinds.Lock()
	defer kinds.Unlock()
	kinds.all[name] = k
}

// Kinds returns the names of the kinds there are, in order.
func Kinds() []string {
	kinds.Lock()
	defer kinds.Unlock()
	return slices.Sorted(maps.Keys(kinds.all))
}

// New makes the processor of a document, and says which events it gets ("" for all). A
// kind that is not registered is Unsupported.
func New(document json.RawMessage) (p Processor, events string, err error) {
	var named struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(document, &named); err != nil {
		return nil, "", fault.Wrap(err, fault.Invalid, "read an event callback")
	}
	kinds.Lock()
	k, ok := kinds.all[named.Kind]
	kinds.Unlock()
	if !ok {
		return nil, "", fault.New(fault.Unsupported, "this server has no event callbacks of the kind "+named.Kind).
			Hint("it has " + strings.Join(Kinds(), ", "))
	}
	if p, err = k.New(document); err != nil {
		return nil, "", err
	}
	return p, k.Events, nil
}
