// Package tool defines tools: a definition that the agent offers to the model, and
// an executor that runs its actions. They are separate because they run in
// separate processes: definitions in the one that calls the LLM, executors inside
// the sandbox.
//
// # Usage
//
// A tool package exports both:
//
//	func Definition() *tool.Definition
//	func New(cfg Config) tool.Executor
//
// The agent offers definitions and turns a model's call into an Action with
// [Set.Parse]; executor.Executor dispatches Actions to executors by kind.
//
// # Concurrency
//
// Definitions are immutable. An executor is called by one goroutine at a time
// for actions that share a lock key (see [Definition.Locks]) and by several
// at once otherwise.
//
// # Failure
//
// If an action fails (a failing command, a missing file), the result is an
// Observation with IsError set, because the model must see it. An error of
// Execute means that the tool itself failed; the controller records it as an
// AgentErrorEvent.
package tool

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

// Definition describes a tool to a model (docs/openhands/tools.md).
type Definition struct {
	// Name is the model's name for it.
	Name string
	// Kind is the wire name of the tool's class, for example "TerminalTool".
	Kind            string
	Description     string
	Parameters      Schema
	Annotations     event.Annotations
	ActionKind      string
	ObservationKind string
	// Guidance is a tagged block of text that the tool adds to the system
	// prompt; empty for none. Equal blocks of several tools appear once.
	Guidance string
	// Local says that the action has no effect on the sandbox and runs in the
	// controller's process (finish, think, task_tracker).
	Local bool
	// Locks names the resources that the action uses exclusively, for example
	// "terminal" or "file:/a/b". Actions of one response that share no key run in
	// parallel; actions that share one run in call order. Nil means that the action is
	// safe beside any other. A nil func locks everything.
	Locks func(event.Action) []string
	// Repair fills in arguments that only this tool can infer from the other
	// arguments, before their types are checked; nil for nothing.
	Repair func(*Arguments)
	// Describe adds fields to the tool's description in a SystemPromptEvent that only
	// tools of its kind have there; nil for nothing.
	Describe func(*event.ToolDefinition)
	// Decode makes the action from the model's arguments, after the generic
	// repairs; mostly [DecodeInto]. Errors are shown to the model, so they say
	// how to do it right.
	Decode func(args json.RawMessage) (event.Action, error)
}

// Chunk is a piece of output of a running action, as it appears. Unlike an
// observation it may have the program's colours: escape sequences as package sgr
// knows them.
type Chunk struct {
	Text string `json:"text"`
}

// Call is one action to run.
type Call struct {
	ID     event.ID // of the ActionEvent
	Action event.Action
	// Tool is the name by which the model called it, since actions of one kind
	// may be of several tools (MCP); empty if there was no such call.
	Tool string
	// Agent names whose call it is where several agents work in one place, each with a
	// shell of its own; empty for the one whose place it is.
	Agent string
	// Progress takes output as it appears. It must not block. A tool always
	// gets one; in a [Request] it may be nil.
	Progress func(Chunk)
	// Secrets are for the environment of the command that the action runs, if
	// it runs one; mostly nil. They are kept nowhere.
	Secrets Secrets
	// Mask returns the masker of secrets for a text that the tool keeps outside of its
	// observation, which is masked anyway; nil if there is nothing to hide.
	Mask func() Masker
}

// Masker hides secrets in one text that arrives in pieces. It holds back text that
// may be the start of a secret; Flush returns that at the end.
type Masker interface {
	Feed(text string) string
	// Held is the number of characters that are held back.
	Held() int
	Flush() string
}

// Request asks a runtime, and in the end an executor.Executor, for one action.
// runtime/protocol has its form on the wire.
type Request struct {
	// Call is the input of a tool. Its ID is the key of exactly-once: asked again with
	// the same ID, the request joins the action that still runs, or gets the recorded
	// result. Such a request needs no Action and no Secrets: it uses the first one's.
	Call
	// Again says that the action may have been asked for before, for example
	// by a controller that crashed. It is run only if it provably never
	// started; otherwise the error is fault.Interrupted. A controller that
	// comes back asks for all pending actions with Again before it asks for
	// anything new.
	Again bool
	// Tail asks, if the action runs already, for the end of its output so far
	// (up to 16 KiB) as the first chunk.
	Tail bool
}

// Executor runs the actions of one tool.
type Executor interface {
	// Execute runs one action to its end. When ctx ends, the user has interrupted the
	// action: Execute stops its work and soon returns the output so far as an
	// observation.
	Execute(ctx context.Context, c Call) (event.Observation, error)
	// Close ends everything the tool still runs.
	Close() error
}

// Warmer is an [Executor] that can get ready before its first action, while the
// model still answers. An error of Warm may be ignored: the first action fails
// in the same way and reports it.
type Warmer interface {
	// Warm returns when the executor is ready. It may be called at any time,
	// also while actions run.
	Warm(ctx context.Context) error
}
