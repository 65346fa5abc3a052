package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
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
	// Inline runs an inline command of a skill and returns the text in its place; nil for none.
	Inline func(ctx context.Context, s skill.Skill, command string, sandboxed bool) string
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
	// Remember changes the memory file of the user or of the project; nil for an agent that
	// cannot.
	Remember func(ctx context.Context, ofUser bool, c memoryfile.Change) error
	// SwitchLLM carries out the switch_llm tool; it returns the model's name.
	// Profiles returns the names that it offers.
	SwitchLLM func(ctx context.Context, profile string) (model string, err error)
	Profiles  func(ctx context.Context) ([]string, error)
	// AskOracle carries out the ask_oracle tool, Route the route_task_to_model tool with its
	// parameters, and StartChild the start_child_conversation tool.
	AskOracle  func(ctx context.Context, question, about string) (answer string, err error)
	Route      func(ctx context.Context, params *schema.Map) (Routed, error)
	StartChild func(ctx context.Context, action event.ID, a *event.StartChildConversationAction) (*Conversation, error)
	// Secret returns the value of a secret, for the configuration of MCP
	// servers.
	Secret func(ctx context.Context, name string) (value string, ok bool)
	// SecretNames returns the names of the secrets as they are now; nil for none.
	SecretNames func() []string
	// Track masks further values, such as those in the configuration of MCP servers, in all
	// that is stored and shown; Mask masks a text that is no event, and MaskArguments the
	// arguments of a call. Nil for none of it.
	Track         func(values ...string)
	Mask          func(text string) string
	MaskArguments func(arguments string) string
}

// Prompt is the variable text of a system prompt.
type Prompt struct {
	Persona string            // in place of its own; "" for that
	Suffix  string            // behind everything else
	Secrets map[string]string // names that commands may use, with descriptions
	Now     time.Time         // zero to leave the time out
	// Repository is what was cloned for the conversation.
	Repository Repository
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
	// Stdin is its standard input, Env are variables, as NAME=VALUE, beside those of commands.
	Stdin string
	Env   []string
	// ID and Again are as in [tool.Request]; a program without an ID gets a new one.
	ID    event.ID
	Again bool
	// Outlives lets the program go on when the context ends, unless the cause is
	// [hook.ErrInterrupted].
	Outlives bool
}

// ProgramResult is the output of a program, and its exit code.
type ProgramResult struct {
	ExitCode       int // -1 if a signal has ended it
	Stdout, Stderr string
	TimedOut       bool // it was killed because its time was over
}

// ErrNotStarted is in the chain of an error of RunProgram if there is no such program.
var ErrNotStarted = errors.New("the program was not started")

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
	// Viewer returns what shows people a tool's browser; nil if there is nothing.
	Viewer() tool.Viewer
	// Close ends the place. keep leaves the sandbox and the processes in it running
	// for a while, so that it can be reused.
	Close(ctx context.Context, keep bool) error
}

// Resources are the agent, tools and place of a conversation. They may implement [Pauser], [Host],
// [Prompter], [AnalyzerClients] and [CriticClients].
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

// Scripter are resources that run the scripts of workflows.
type Scripter interface {
	// RunScript runs a script with at most so many sub-agents at a time, and returns its
	// result. do has one do a part; no call of it is left when RunScript returns.
	RunScript(ctx context.Context, script string, most int, do func(ctx context.Context, prompt, agent, description string) (string, error)) (string, error)
}

// Prompter are resources whose MCP servers have prompts.
type Prompter interface {
	// Prompt returns the text of the prompt that a user's message names by a command,
	// /SERVER:PROMPT with arguments; "" for a message that names none.
	Prompt(ctx context.Context, message string) (string, error)
	// Prompts lists the prompts that a message can name. The warnings say which are not listed.
	Prompts(ctx context.Context) (offers []PromptOffer, warnings []string)
}

// PromptOffer is a prompt of an MCP server. Its texts are the server's, cleaned and bounded.
type PromptOffer struct {
	Command     string           `json:"command"` // that a message begins with: /SERVER:PROMPT
	Server      string           `json:"server"`
	Description string           `json:"description"`
	Arguments   []PromptArgument `json:"arguments"` // in the order in which they are written behind the command
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Host are resources that sub-agents can share.
type Host interface {
	// Guest makes the resources of a sub-agent that works within these: in the same
	// runtime and with the same MCP servers. They end before these do, and end nothing
	// of them.
	Guest(ctx context.Context, r BuildRequest) (Resources, error)
}
