package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// Builder makes the resources of conversations. Package session/build has the one that ships;
// it chooses classes by the names in the request's Placement.
type Builder interface {
	// Build makes the resources of a conversation. They may outlive
	// ctx, and ends with Close of the resources. A part that is not available is a
	// warning; an error means that the conversation cannot work.
	Build(ctx context.Context, r BuildRequest) (Resources, error)
	// WorkspaceInside reports whether the workspace of a conversation is inside its
	// sandbox, and not on this machine's disk.
	WorkspaceInside(p Placement) (bool, error)
	// Remove removes the sandbox of a deleted conversation.
	Remove(ctx context.Context, id event.ConversationID) error
}

// BuildRequest is the specification of the resources of a conversation.
type BuildRequest struct {
	ID        event.ConversationID
	Owner     identity.Tenant
	Workspace string
	// CheckWorkspace returns an error if Workspace is no longer the directory that
	// it was when the conversation was made.
	CheckWorkspace func() error
	Placement
	Agent     *spec.Agent
	Prompt    Prompt
	Condenser memory.Condenser // nil where the agent has none
	// Model describes the agent's model.
	Model       llm.Info
	ClientTools []json.RawMessage
	// Skills are the skills that the agent may invoke; Invoked is called when it does.
	Skills  []skill.Skill
	Invoked func(name string)
	// SandboxEnded, unless nil, is called when the sandbox has ended, except by Close or Pause
	// of the resources.
	SandboxEnded func(sandbox.Status)
	// ToolsChanged, unless nil, is called when the tools of MCP servers have changed and the
	// agent has the new ones. note says so to the model and the user.
	ToolsChanged func(note string)
	// Project, unless nil, is called as soon as the files of a workspace that is inside
	// its sandbox can be read; it completes Skills and Prompt from the project.
	Project func(ctx context.Context, files workspace.Files, r *BuildRequest) error
	// Tasks returns the task tracker's list as the conversation has it.
	Tasks func() []event.TaskItem
	// TaskRuntime runs the tasks that the agent gives to SubAgents. Nil where it can give
	// none.
	TaskRuntime runtime.Runtime
	SubAgents   []subagent.Definition
	// SwitchLLM carries out the switch_llm tool; it returns the model's name.
	// Profiles returns the names that it offers.
	SwitchLLM func(ctx context.Context, profile string) (model string, err error)
	Profiles  func(ctx context.Context) ([]string, error)
	// Secret returns the value of a secret, for the configuration of MCP
	// servers.
	Secret func(ctx context.Context, name string) (value string, ok bool)
	// Track masks further values, such as those in the configuration of MCP servers, in all
	// that is stored and shown; Mask masks a text that is no event. Nil for neither.
	Track func(values ...string)
	Mask  func(text string) string
}

// Prompt is the variable text of a system prompt.
type Prompt struct {
	Persona string            // in place of its own; "" for that
	Suffix  string            // behind everything else
	Secrets map[string]string // names that commands may use, with descriptions
	Now     time.Time         // zero to leave the time out
}

// Agent is an agent that can be asked about its conversation too.
type Agent interface {
	agent.Agent
	// Ask answers a question about a state without becoming part of it.
	Ask(ctx context.Context, m llm.Model, s *state.State, id event.ConversationID, question string) (string, error)
}

// Program is a program that Deft itself runs in a conversation's workspace. It is no part of
// the conversation.
type Program struct {
	Argv []string // the program is looked up in PATH
	Dir  string   // absolute
	// Seconds bounds how long it may run; 0 takes 30.
	Seconds int
}

// ProgramResult is the output of a program, and its exit code.
type ProgramResult struct {
	ExitCode       int
	Stdout, Stderr string
}

// Place is where the actions of a conversation run.
type Place interface {
	// Runtime executes actions.
	Runtime() runtime.Runtime
	// Warm prepares for the first actions, as by starting a shell. It is called when a run begins,
	// while the model answers, and again with each.
	Warm(ctx context.Context) error
	// Ready returns when actions can run, or why they never will. Isolation, valid after
	// that, is the level of isolation in force.
	Ready(ctx context.Context) error
	Isolation() string
	// Files returns the files of a workspace inside the sandbox; nil for one on this
	// machine.
	Files() workspace.Files
	// Terminals returns the pseudo terminals of the runtime; nil if there are none.
	Terminals() tool.PTYs
	// Close ends the place. keep leaves the sandbox and the processes in it running
	// for a while, so that it can be reused.
	Close(ctx context.Context, keep bool) error
}

// Resources are the agent, tools and place of a conversation. They may implement [Pauser] and [Host].
type Resources interface {
	Place
	Agent() Agent
	// Local executes the actions of tools that run beside the controller.
	Local() runtime.Runtime
	// Warnings name the parts that are not available.
	Warnings() []string
	// RunProgram runs a program beside the actions, in the same runtime.
	RunProgram(ctx context.Context, p Program) (ProgramResult, error)
}

// Pauser are resources, or a place, whose sandbox can be paused.
type Pauser interface {
	// Pause is Close for a conversation that is idle: the sandbox uses no processor
	// until the resources are built again, and nothing in it is lost. stop ends it.
	Pause(ctx context.Context) (stop func(context.Context) error, err error)
	// InUse reports whether somebody uses the sandbox beside the conversation, as in
	// a terminal.
	InUse(ctx context.Context) bool
}

// Host are resources that sub-agents can share.
type Host interface {
	// Guest makes the resources of a sub-agent that works within these: in the same
	// runtime and with the same MCP servers. They end before these do, and end nothing
	// of them.
	Guest(ctx context.Context, r BuildRequest) (Resources, error)
}
