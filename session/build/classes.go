package build

import (
	"context"
	"time"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

// Names of the classes that ship with Deft.
const (
	CodeActAgent     = "CodeActAgent"
	LocalRuntime     = "local"     // in this process
	SandboxedRuntime = "sandboxed" // in an Action Execution Server inside a sandbox
	StandardExecutor = standard.ClassName
)

// Classes are the classes of conversations' parts, by name.
type Classes struct {
	Agents    map[string]AgentClass
	Runtimes  map[string]RuntimeClass
	Sandboxes sandbox.Classes
	standard.Classes
}

// AgentClass makes an agent.
type AgentClass func(AgentConfig) (session.Agent, error)

// AgentConfig has the inputs of an agent.
type AgentConfig struct {
	Tools     *tool.Set
	Condenser memory.Condenser // nil for none
	Prompt    codeact.Prompt
	Model     llm.Info // of the agent's model
	// Request is what the agent is built for, and Place where programs of it can run.
	Request session.BuildRequest
	Place   AgentPlace
}

// AgentPlace is where programs of an agent run: the place of its actions.
type AgentPlace interface {
	// Programs starts programs that the agent talks to.
	Programs() tool.Starter
	// RunProgram runs one to its end.
	RunProgram(ctx context.Context, p session.Program) (session.ProgramResult, error)
}

// RuntimeClass makes the runtime of one conversation.
type RuntimeClass func(context.Context, RuntimeConfig) (Execution, error)

// RuntimeConfig has the inputs of a runtime.
type RuntimeConfig struct {
	// NewExecutors is the conversation's executor class, and Executors its argument
	// for executors that run in this process.
	NewExecutors ExecutorClass
	Executors    ExecutorConfig
	// Grace is how long a sandbox that is kept waits for another process.
	Grace   time.Duration
	Builder *Builder
	Request session.BuildRequest // with its Placement filled in
	// Local are the executors of tools that run beside the controller, by kind
	// of action.
	Local map[string]tool.Executor
	// Tools are the tools that the agent has.
	Tools []*tool.Definition
	// EnvMark changes with the variables that the conversation adds for its
	// commands; a sandbox with other ones is replaced.
	EnvMark string
}

// Execution is where the actions of a conversation run. It may implement [session.Pauser].
type Execution interface {
	session.Place
	// Local executes the actions of tools that run beside the controller.
	Local() runtime.Runtime
	// Tools returns the tools that the executors bring. It waits until actions can run
	// if the executors may bring some.
	Tools(ctx context.Context) ([]tool.External, error)
	// Programs starts the programs of MCP servers, beside the actions; nil if it can
	// start none.
	Programs() tool.Starter
}

// Variables of the environment that choose classes for conversations that name
// none.
const (
	AgentClassVariable    = "DEFT_AGENT_CLASS"
	RuntimeClassVariable  = "DEFT_RUNTIME_CLASS"
	SandboxClassVariable  = "DEFT_SANDBOX_CLASS"
	ExecutorClassVariable = "DEFT_EXECUTOR_CLASS"
)

// FromEnvironment returns p with the classes that the environment chooses. A
// class that is not registered is an error of [New].
func FromEnvironment(p session.Placement, env func(string) string) session.Placement {
	for _, f := range []struct {
		class    *string
		variable string
	}{
		{&p.AgentClass, AgentClassVariable}, {&p.RuntimeClass, RuntimeClassVariable},
		{&p.SandboxClass, SandboxClassVariable}, {&p.ExecutorClass, ExecutorClassVariable},
	} {
		if v := env(f.variable); v != "" {
			if f.class == &p.SandboxClass && v != p.SandboxClass {
				p.Isolation = "" // a level of the other class
			}
			*f.class = v
		}
	}
	if class, err := standard.AbsoluteClass(p.ExecutorClass); err == nil { // else New names the mistake
		p.ExecutorClass = class
	}
	return p
}

// StandardClasses returns the classes that ship with Deft, and those that linked
// packages have registered. The caller may add to it.
func StandardClasses() Classes {
	c := Classes{
		Agents: map[string]AgentClass{CodeActAgent: newCodeAct, spec.ACPKind: newACP},
		Runtimes: map[string]RuntimeClass{
			LocalRuntime: newLocalRuntime, SandboxedRuntime: newSandboxedRuntime,
		},
		Sandboxes: sandbox.Classes{process.Class, docker.Class, remote.Class(remote.API{}), sandbox.None},
		Classes:   standard.OwnClasses(),
	}
	c.addRegistered()
	return c
}

func (c Classes) empty() bool {
	return len(c.Agents)+len(c.Runtimes)+len(c.Sandboxes)+len(c.Executors) == 0
}

// check returns an error if a placement names a class that is not registered,
// or a sandbox beside the runtime that uses none.
func (c Classes) check(p session.Placement) error {
	if p.SandboxClass != "" {
		class, err := c.Sandboxes.Find(p.SandboxClass)
		if err == nil {
			err = class.CheckLevel(p.Isolation)
		}
		if err != nil {
			return err
		}
	}
	if p.AgentClass != "" && c.Agents[p.AgentClass] == nil {
		return unknownClass("agent", p.AgentClass, c.Agents)
	}
	if p.RuntimeClass != "" && c.Runtimes[p.RuntimeClass] == nil {
		return unknownClass("runtime", p.RuntimeClass, c.Runtimes)
	}
	if p.ExecutorClass != "" {
		if err := c.CheckExecutor(p.ExecutorClass); err != nil {
			return err
		}
	}
	if p.RuntimeClass == LocalRuntime && p.SandboxClass != "" && c.Sandboxes.Get(p.SandboxClass).New != nil {
		return fault.New(fault.Invalid, "the runtime class "+LocalRuntime+" uses no sandbox, but the sandbox class is "+p.SandboxClass).
			Hint("choose the runtime class " + SandboxedRuntime + ", or the sandbox class " + sandbox.None.Name)
	}
	return nil
}

func newCodeAct(c AgentConfig) (session.Agent, error) {
	return codeact.New(codeact.Config{
		Tools: c.Tools, Condenser: c.Condenser, ReportRisk: true, Prompt: c.Prompt, MaskArguments: c.Request.MaskArguments,
	})
}
