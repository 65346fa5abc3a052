package build

import (
	"context"
	"maps"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// Names of the classes that ship with Deft.
const (
	CodeActAgent     = "CodeActAgent"
	LocalRuntime     = "local"     // in this process
	SandboxedRuntime = "sandboxed" // in an Action Execution Server inside a sandbox
	ProcessSandbox   = "process"
	DockerSandbox    = "docker"
	RemoteSandbox    = "remote" // of a Runtime API, see [RuntimeAPI]
	NoSandbox        = "none"
	StandardExecutor = "standard"
)

// Classes are what conversations can be built from, by name.
type Classes struct {
	Agents    map[string]AgentClass
	Runtimes  map[string]RuntimeClass
	Sandboxes map[string]SandboxClass
	Executors map[string]ExecutorClass
	// Tools are further tools, by the name by which agents ask for them. Those
	// with an effect on the sandbox need an executor class that runs them.
	Tools map[string]*tool.Definition
}

// AgentClass makes an agent.
type AgentClass func(AgentConfig) (session.Agent, error)

// AgentConfig is what an agent is made from.
type AgentConfig struct {
	Tools     *tool.Set
	Condenser memory.Condenser // nil for none
	Prompt    codeact.Prompt
	Model     llm.Info // of the agent's model
}

// RuntimeClass makes the runtime of one conversation.
type RuntimeClass func(context.Context, RuntimeConfig) (Execution, error)

// RuntimeConfig is what a runtime is made from.
type RuntimeConfig struct {
	// NewExecutors is the conversation's executor class, and Executors what it is
	// called with for executors that run in this process.
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

// SandboxClass makes a provider of sandboxes.
type SandboxClass func(SandboxConfig) (sandbox.Provider, error)

// SandboxConfig is what a provider of sandboxes is made from.
type SandboxConfig struct {
	Dir       string   // for its own files
	Program   string   // path of what runs in sandboxes; "" for this process's
	Isolation string   // level of isolation; empty for the best there is
	Hidden    []string // paths that no sandbox shows
	// Installation is the name that programs on several machines have in common which
	// work on the same conversations, letters and digits; "" for this machine alone.
	Installation string
}

// ExecutorClass makes the executors of the tools that have an effect on the
// sandbox, by kind of action.
type ExecutorClass func(ExecutorConfig) (map[string]tool.Executor, error)

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
			*f.class = v
		}
	}
	if class, err := AbsoluteExecutor(p.ExecutorClass); err == nil { // else New says what is wrong
		p.ExecutorClass = class
	}
	return p
}

// StandardClasses returns the classes that ship with Deft, and those that linked
// packages have registered. The caller may add to it.
func StandardClasses() Classes {
	c := Classes{
		Agents: map[string]AgentClass{CodeActAgent: newCodeAct},
		Runtimes: map[string]RuntimeClass{
			LocalRuntime: newLocalRuntime, SandboxedRuntime: newSandboxedRuntime,
		},
		Sandboxes: map[string]SandboxClass{ProcessSandbox: newProcessSandbox, DockerSandbox: newDockerSandbox, RemoteSandbox: RuntimeAPI{}.newSandbox},
		Executors: map[string]ExecutorClass{StandardExecutor: NewExecutors},
		Tools:     map[string]*tool.Definition{},
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
	sandboxes := maps.Clone(c.Sandboxes)
	if sandboxes == nil {
		sandboxes = map[string]SandboxClass{}
	}
	sandboxes[NoSandbox] = nil
	if _, ok := sandboxes[p.SandboxClass]; !ok && p.SandboxClass != "" {
		return unknownClass("sandbox", p.SandboxClass, sandboxes)
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
	if p.RuntimeClass == LocalRuntime && p.SandboxClass != NoSandbox && p.SandboxClass != "" {
		return fault.New(fault.Invalid, "the runtime class "+LocalRuntime+" uses no sandbox, but the sandbox class is "+p.SandboxClass).
			Hint("choose the runtime class " + SandboxedRuntime + ", or the sandbox class " + NoSandbox)
	}
	return nil
}

func newCodeAct(c AgentConfig) (session.Agent, error) {
	return codeact.New(codeact.Config{Tools: c.Tools, Condenser: c.Condenser, ReportRisk: true, Prompt: c.Prompt})
}

func newDockerSandbox(c SandboxConfig) (sandbox.Provider, error) {
	if c.Isolation != "" {
		return nil, fault.New(fault.Invalid, "containers have no level of isolation "+c.Isolation)
	}
	return docker.New(docker.Options{Dir: filepath.Join(c.Dir, DockerSandbox), Self: c.Program, Hidden: c.Hidden, GitIdentity: true})
}

func newProcessSandbox(c SandboxConfig) (sandbox.Provider, error) {
	return process.New(process.Options{Dir: c.Dir, Self: c.Program, Level: c.Isolation, Hidden: c.Hidden})
}

// RuntimeAPI is where the sandboxes of the class RemoteSandbox run. Without an address
// they cannot be started.
type RuntimeAPI struct {
	// URL is its address, Key this client's key for it, and KeyName the variable that
	// holds the key, for messages.
	URL, Key, KeyName string
}

// Use makes the class RemoteSandbox one of this API.
func (a RuntimeAPI) Use(c Classes) { c.Sandboxes[RemoteSandbox] = a.newSandbox }

func (a RuntimeAPI) newSandbox(c SandboxConfig) (sandbox.Provider, error) {
	if c.Isolation != "" {
		return nil, fault.New(fault.Invalid, "sandboxes of a Runtime API have no level of isolation "+c.Isolation)
	}
	return remote.New(remote.Options{Dir: filepath.Join(c.Dir, RemoteSandbox), Client: c.Installation, URL: a.URL, Key: a.Key, KeyName: a.KeyName, GitIdentity: true})
}
