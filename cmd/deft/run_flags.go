package main

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// runCmd works on a task.
type runCmd struct {
	Task []string `arg:"" optional:"" help:"The task, in plain language. Without one it is read from --file or from standard input."`

	File   string   `short:"f" help:"Read the task from a file." placeholder:"FILE" type:"path"`
	Attach []string `help:"Add a picture or a text file to the message. May be repeated." placeholder:"FILE" type:"path" sep:"none"`
	modelchoice.Choice
	Workspace     string  `short:"C" help:"Directory to work in (default: the current one)." placeholder:"DIR" type:"path"`
	MaxIterations int     `help:"Stop after this many steps (a resumed conversation keeps its own limit)." default:"500" placeholder:"N" env:"MAX_ITERATIONS"`
	MaxCost       float64 `help:"Never spend more than this many US dollars on the conversation; 0 for no limit (default: no limit; a resumed conversation keeps its own)." placeholder:"DOLLARS" env:"MAX_BUDGET_PER_TASK"`
	JSON          bool    `name:"json" help:"Print every event as a line of JSON, and a result line at the end."`
	Replay        string  `help:"Run a recorded trajectory again, without an LLM. A task, if there is one, comes after it." placeholder:"FILE" type:"path"`
	ReplayFrom    string  `name:"replay-workspace" help:"Directory in which the trajectory was recorded (default: its agent's, or where its first command ran). The workspace takes its place in paths." placeholder:"DIR"`
	Resume        string  `help:"Go on with a conversation: its id, the start of it, \"last\" for the last one of this directory, or \"last:any\". With a task, the task is added." placeholder:"ID" complete:"conversations"`
	Export        string  `help:"Write the conversation's trajectory to a file at the end." placeholder:"FILE" type:"path"`
	Sandbox       string  `help:"Isolation of the agent's actions: ${sandbox_choice_help}." enum:"${sandbox_choices}" default:"auto" placeholder:"LEVEL" env:"DEFT_SANDBOX"`
	runtimeAPIFlags
	portFlags
	Image       string          `help:"Image for --sandbox ${image_classes}; any image will do (default for ${default_images})." placeholder:"IMAGE" env:"DEFT_IMAGE"`
	Dockerfile  string          `help:"Build the image for --sandbox ${image_classes} from a Dockerfile, unless that was done." placeholder:"PATH" type:"path"`
	ExtraDeps   string          `help:"A command that adds to the image, as root: 'apt-get install -y jq'." placeholder:"COMMAND"`
	Pull        string          `help:"When the image is fetched: missing, always or never." enum:",missing,always,never" default:"" placeholder:"WHEN" env:"DEFT_PULL"`
	OCIRuntime  string          `name:"oci-runtime" help:"Runtime of the container, for example runsc for gVisor (default: the engine's)." placeholder:"NAME" env:"DEFT_OCI_RUNTIME"`
	Mount       []sandbox.Mount `help:"Directory or volume that a container has as well, rw (the default), ro or overlay: files that are written to an overlay stay in the sandbox. May be repeated; kept with the conversation." placeholder:"SOURCE:TARGET[:MODE]" sep:"none"`
	ReadOnly    bool            `name:"read-only-image" help:"Make the container's own files read-only; /tmp, /run and the home are in memory."`
	Disk        sandbox.Size    `help:"How much the container may write beside the workspace and mounts, for example 10G, where the engine can limit it (default: no limit)." placeholder:"SIZE"`
	GPUs        string          `name:"gpus" help:"GPUs of the container: all, a number, ids, or none (default: none; a resumed conversation keeps its own)." placeholder:"GPUS"`
	Executor    string          `help:"Program that executes actions in the sandbox beside the built-in tools, as exec:PATH (default: the built-in tools alone; a resumed conversation keeps its own)." placeholder:"exec:PATH"`
	Net         sandbox.Network `help:"Hosts that the agent's commands may reach: every public host (--net), these hosts (--net=pypi.org,.example.com:443), the registries of go, npm, pypi, cargo, maven or debian (--net=go,npm) or none; --net=open,HOST adds a host with a private address. This machine is never reached (default: none; a resumed conversation keeps its own)." placeholder:"HOSTS" env:"DEFT_NET"`
	Read        []string        `help:"Directory outside the workspace that the agent's commands may read. May be repeated; kept with the conversation." placeholder:"DIR" type:"path" env:"DEFT_READ" sep:":"`
	Write       []string        `help:"Directory outside the workspace that the agent's commands may change. May be repeated; kept with the conversation." placeholder:"DIR" type:"path" env:"DEFT_WRITE" sep:":"`
	Memory      sandbox.Size    `help:"How much memory the sandbox may use, for example 8G, or none for no limit (default: three quarters of this machine's)." placeholder:"SIZE" env:"DEFT_MEMORY"`
	Pids        int             `help:"How many processes and threads the sandbox may have; -1 for no limit (default: 1024, or 64 for each processor)." placeholder:"N" env:"DEFT_PIDS"`
	CPUs        float64         `name:"cpus" help:"How many processors the sandbox may use (default: all)." placeholder:"N" env:"DEFT_CPUS"`
	Grace       time.Duration   `help:"How long the sandbox, with its running programs, waits for a resume after a pause." default:"10m" placeholder:"TIME"`
	Keep        time.Duration   `help:"How long programs that still run when the task is done, such as a server, go on with the sandbox (default: they end, also where an earlier run has kept them)." placeholder:"TIME"`
	Checkpoints string          `help:"When the files are kept so that deft undo can bring them back: turn, before the first action after your message; step, before the actions of each answer too; or off." enum:"off,turn,step" default:"turn" placeholder:"WHEN" env:"DEFT_CHECKPOINTS"`
	Preset      string          `help:"Tools for the agent: default; gpt5 (files are changed by patches) or gemini (read_file, write_file, edit, list_directory), as models of these families know them; or planning, an agent that reads and writes only its plan, .agents_tmp/PLAN.md (default: default; a resumed conversation keeps its own)." enum:",default,gpt5,gemini,planning" default:"" placeholder:"NAME" env:"DEFT_PRESET"`
	Tool        []string        `help:"Further tool for the agent, such as ipython or browser_tool_set. May be repeated." placeholder:"NAME"`
	Condenser   string          `help:"How a long conversation is kept within the model's window: llm_summarizing, recent, amortized, structured and others (default: as your settings say; docs/condensers.md)." placeholder:"KIND"`
	ACP         string          `name:"acp" help:"Give the task to another agent program, which runs in the sandbox: claude-code, codex, gemini-cli, kimi-code, pi or opencode, or the command line of one that speaks the Agent Client Protocol. --model names its model. Kept with the conversation." placeholder:"NAME|COMMAND"`
	MCPConfig   []string        `name:"mcp-config" help:"File with MCP servers for the agent, as other programs write it ({\"mcpServers\": …}). May be repeated; the project's .mcp.json is then used only if it is named." placeholder:"FILE" type:"path"`
	AskMCP      bool            `name:"ask-mcp" help:"Ask again whether the MCP servers of the project's .mcp.json are used."`
	Hooks       []string        `help:"File with hooks, as OpenHands and Claude Code write it, in place of your ~/.openhands/hooks.json and the project's; none for no hooks. May be repeated; kept with the conversation." placeholder:"FILE"`
	Plugin      []string        `help:"Plugin for this conversation: github:OWNER/REPOSITORY[/DIRECTORY], the URL of a repository, or a directory. Its hooks and MCP servers run, so name one that you trust. May be repeated; kept with the conversation." placeholder:"SOURCE" sep:"none"`
	NoPlugins   bool            `name:"no-plugins" help:"Leave out your installed plugins; kept with the conversation."`
	SetUp       bool            `name:"set-up" help:"Run the project's .openhands/setup.sh in the sandbox before the first message, and install its pre-commit.sh, without a question."`
	AskHooks    bool            `name:"ask-hooks" help:"Ask again whether programs of the project's hooks, set-up, plugins and agents run."`
	SecretEnv   []string        `name:"secret-env" help:"Name of an environment variable that the agent's commands may use. Its value is masked everywhere. May be repeated." placeholder:"NAME"`
	Env         []string        `help:"A variable for the agent's commands. A name alone takes the value that it has here. May be repeated." placeholder:"NAME[=VALUE]" sep:"none"`
	EnvFile     []string        `name:"env-file" help:"File of NAME=VALUE lines for the agent's commands, such as the project's .env. Its values are masked. May be repeated." placeholder:"FILE" type:"path" sep:"none"`
	EnvUnmasked bool            `name:"env-unmasked" help:"Do not mask the values of --env-file."`
	Confirm     string          `help:"Which actions wait for your yes: never, risky or always (default: never; a resumed conversation keeps its own)." enum:",never,risky,always" default:"" placeholder:"WHEN"`
	Analyzer    string          `help:"File with the security analyzer that rates actions for --confirm in the place of the usual ones, such as a service (docs/confirmation.md)." placeholder:"FILE" type:"path"`
	Quiet       bool            `short:"q" help:"Print only the final answer."`
	Thoughts    bool            `help:"Show the model's reasoning as well."`

	task runcommand.Task
	// clientServers are MCP servers of a client that Deft serves, in the form of --mcp-config.
	clientServers json.RawMessage

	modelGiven bool            // --model is a flag, and not a variable
	given      map[string]bool // which of storedSettings are flags, and not variables
}

// Help is shown by `deft run --help`.
func (c *runCmd) Help() string {
	return `The agent works in a sandbox: it can write in the workspace only, sees of your other files only
toolchains and what you grant with --read and --write, and has no network unless you pass --net. Even then it reaches neither your machine's own
services nor private addresses that you do not name.

The final answer goes to standard output, progress to standard error when standard output is
not a terminal. Ctrl-C pauses and says how to resume; a command that runs ends by itself first.
A second Ctrl-C stops the command, a third leaves at once. Nothing that was done is lost.

What is piped to standard input beside a task is part of the message; redirect it from /dev/null
in loops that read it themselves.

AGENTS.md and the skills of the project and of your home directory are the agent's too. MCP
servers that are programs start in the sandbox and reach what --net allows; those of a project's
.mcp.json are used only after you were asked. With --sandbox none they have your rights. With --confirm the actions wait for your answer, each on its own: y (run), n (refuse, with a
reason that the agent reads) or a (run this and others of its kind in this run).

Examples:
  deft run "make the tests pass"
  deft run -f task.md --max-cost 2 --workspace ~/src/app
  deft run -q < task.md > answer.md
  make 2>&1 | deft run "find out why the build fails"
  deft run --attach screenshot.png "make the page look like this"
  deft run --resume last
  deft run --resume last "now document it"
  deft run --resume last --profile strong "find out why it is slow"
  deft run --confirm risky "clean up the build scripts"
  deft run --net=pypi.org,files.pythonhosted.org "update the dependencies"
  deft run --net --secret-env GITHUB_TOKEN "open an issue about the flaky test"
  deft run --preset planning "plan the move to the new API"
  deft run --resume last --preset default "carry out the plan"
  deft run --mcp-config servers.json "what does our tracker say about the login page?"
  deft run --acp codex "make the tests pass"
  deft run --model openai/local --base-url http://localhost:8080/v1 "explain main.go"

Exit codes: 0 finished, 1 error, 2 wrong usage, 3 stuck, 4 a limit was reached,
5 refused (key, policy, no terminal to confirm in),
6 LLM not reachable, 7 storage, 8 the agent asks and wants an answer,
130 interrupted.`
}

// check refuses flags that make no sense before anything is done.
func (c *runCmd) check() error {
	switch {
	case c.MaxIterations < 1:
		return fault.New(fault.Invalid, "--max-iterations must be at least 1").Hint("leave it out for 500")
	case c.MaxCost < 0 || math.IsNaN(c.MaxCost):
		return fault.New(fault.Invalid, "--max-cost must not be negative").Hint("leave it out for no limit")
	case c.Timeout < 0:
		return fault.New(fault.Invalid, "--timeout must not be negative").Hint("leave it out for 5m")
	case c.given["pids"] && c.Pids == 0 || c.Pids < -1:
		return fault.New(fault.Invalid, "--pids must be at least 1").Hint("-1 is no limit; leave it out for the default")
	case c.CPUs < 0 || math.IsNaN(c.CPUs) || c.given["cpus"] && c.CPUs == 0:
		return fault.New(fault.Invalid, "--cpus must be more than 0").Hint("leave it out for all processors")
	case c.Keep < 0:
		return fault.New(fault.Invalid, "--keep must not be negative").Hint("leave it out to end everything with the run")
	case c.Grace < 0:
		return fault.New(fault.Invalid, "--grace must not be negative").Hint("0 stops the sandbox when the run is paused")
	case c.Dockerfile != "" && c.Image != "":
		return fault.New(fault.Invalid, "--image and --dockerfile exclude each other").Hint("the Dockerfile names the image that it begins with")
	case c.Dockerfile+c.ExtraDeps != "" && c.Pull == sandbox.PullNever:
		return fault.New(fault.Invalid, "--pull=never cannot be kept while an image is built").Hint("leave it out: images that are there are not fetched")
	case c.EnvUnmasked && len(c.EnvFile) == 0:
		return fault.New(fault.Invalid, "--env-unmasked goes with --env-file").Hint("leave it out")
	case c.ReplayFrom != "" && c.Replay == "":
		return fault.New(fault.Invalid, "--replay-workspace goes with --replay").Hint("leave it out")
	case c.ReplayFrom != "" && (!filepath.IsAbs(c.ReplayFrom) || filepath.Clean(c.ReplayFrom) == "/"):
		return fault.New(fault.Invalid, "--replay-workspace must be the absolute path of a directory").Hint("name the directory of the recording")
	case c.ACP != "" && (c.Preset != "" || len(c.Tool) > 0 || c.Profile != "" || len(c.Service) > 0 || c.Replay != ""):
		return fault.New(fault.Invalid, "--acp goes with no --preset, --tool, --profile, --service or --replay").Hint("the other program has its own tools and models")
	case c.JSON && c.Quiet:
		return fault.New(fault.Invalid, "--json and --quiet exclude each other").Hint("the last line of --json has the answer")
	}
	if err := errors.Join(c.Memory.CheckLimit("--memory"), c.Disk.CheckLimit("--disk"), c.checkSandbox()); err != nil {
		return err
	}
	if c.Export != "" {
		return openhands.CheckTarget(c.Export)
	}
	return nil
}

// checkSandbox refuses flags that the chosen sandbox has no use for.
func (c *runCmd) checkSandbox() error {
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if err != nil {
		return err
	}
	if chosen.Has(sandbox.FeatureBuild) && chosen.Class.Image == "" && c.ExtraDeps != "" && c.Image+c.Dockerfile == "" {
		return fault.New(fault.Invalid, "--extra-deps adds to an image of "+chosen.Class.By+", which is missing").Hint("add --image IMAGE or --dockerfile PATH")
	}
	return sandboxClasses().Refuse(chosen,
		sandbox.Asked{Feature: sandbox.FeatureImage, Settings: []string{"--image", "--pull", "--oci-runtime"}, Given: c.Image+c.Pull+c.OCIRuntime != ""},
		sandbox.Asked{Feature: sandbox.FeatureDisk, Settings: []string{"--disk"}, Given: c.Disk > 0},
		sandbox.Asked{Feature: sandbox.FeaturePorts, Settings: []string{"--publish"}, Given: len(c.Publish) > 0},
		sandbox.Asked{Feature: sandbox.FeatureExtraHosts, Settings: []string{"--add-host"}, Given: len(c.AddHost) > 0},
		sandbox.Asked{Feature: sandbox.FeatureMounts, Settings: containerFlags, Given: len(c.Mount) > 0},
		sandbox.Asked{Feature: sandbox.FeatureReadOnly, Settings: containerFlags, Given: c.ReadOnly},
		sandbox.Asked{Feature: sandbox.FeatureGPUs, Settings: containerFlags, Given: c.GPUs != ""},
		sandbox.Asked{Feature: sandbox.FeatureBuild, Settings: []string{"--dockerfile", "--extra-deps"}, Given: c.Dockerfile+c.ExtraDeps != ""},
	)
}

// containerFlags are named together where one of them is refused.
var containerFlags = []string{"--mount", "--read-only-image", "--gpus"}

// newView returns the view of a run.
func newView(c *runCmd, std *streams, g *globalFlags) *runcommand.View {
	return runcommand.NewView(runcommand.ViewOptions{
		Out: std.Out, Err: std.Err, OutTTY: std.OutTTY, ErrTTY: std.ErrTTY, Same: std.Same,
		Color: std.Color(true), Status: std.Env("TERM") != "dumb", Width: std.Width,
		JSON: c.JSON, Quiet: c.Quiet, Thoughts: c.Thoughts, Command: ownCommand(std, g),
	})
}

// ownCommand is how the user calls deft for the same data.
func ownCommand(std *streams, g *globalFlags) string {
	if g.Data != "" && g.Data != std.Env("DEFT_DATA") {
		return "deft --data " + stdio.Quoted(g.Data)
	}
	return "deft"
}

// environment returns the variables of --env, --env-file and --secret-env, the
// latter among the secrets. allOf names the secrets that all commands get.
func (c *runCmd) environment(std *streams) (out runcommand.Environment, allOf []string, err error) {
	if out, err = runcommand.ReadEnvironment(c.Env, c.EnvFile, c.EnvUnmasked, std.Env); err != nil {
		return out, nil, err
	}
	allOf = slices.Sorted(maps.Keys(out.Secrets))
	for _, name := range c.SecretEnv {
		if !runcommand.VariableName().MatchString(name) { // perhaps the secret itself: not to be shown
			return out, nil, fault.New(fault.Invalid, "--secret-env takes the name of a variable, not a value").Hint("for example --secret-env GITHUB_TOKEN")
		}
		value := std.Env(name)
		if value == "" {
			return out, nil, fault.New(fault.Invalid, "the environment variable "+name+" is empty").Hint("set it to the secret, or leave --secret-env " + name + " out")
		}
		if out.Secrets[name], err = runcommand.StaticSecret(value); err != nil {
			return out, nil, err
		}
	}
	return out, allOf, nil
}

// AfterApply drops variables about containers where this run has none: they are set
// for other runs. Flags stay, for [runCmd.check] to refuse.
func (c *runCmd) AfterApply(k *kong.Context) error {
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if err != nil {
		return err
	}
	contained := chosen.Has(sandbox.FeatureImage)
	for name, value := range map[string]*string{"image": &c.Image, "pull": &c.Pull, "oci-runtime": &c.OCIRuntime} {
		if (!contained || name == "image" && c.Dockerfile != "") && !given(k, name) {
			*value = ""
		}
	}
	c.modelGiven, c.given = given(k, "model"), map[string]bool{}
	for _, flag := range storedSettings {
		c.given[flag] = given(k, flag)
	}
	return nil
}

// storedSettings are the flags whose values a conversation keeps and that variables may
// set as well.
var storedSettings = []string{
	"max-iterations", "max-cost", "sandbox", "image", "pull", "oci-runtime", "net", "read", "write", "memory", "pids", "cpus", "preset",
}

// keepStored drops the values that variables have set, of a conversation that is stored:
// it keeps its own until a flag changes them.
func (c *runCmd) keepStored() {
	for flag, drop := range map[string]func(){
		"max-iterations": func() { c.MaxIterations = 0 },
		"sandbox":        func() { c.Sandbox = autoSandbox },
		"image":          func() { c.Image = "" },
		"pull":           func() { c.Pull = "" },
		"oci-runtime":    func() { c.OCIRuntime = "" },
		"net":            func() { c.Net = "" },
		"read":           func() { c.Read = nil },
		"write":          func() { c.Write = nil },
		"memory":         func() { c.Memory = 0 },
		"pids":           func() { c.Pids = 0 },
		"cpus":           func() { c.CPUs = 0 },
		"preset":         func() { c.Preset = "" },
	} {
		built := c.Dockerfile+c.ExtraDeps != "" && (flag == "image" || flag == "pull")
		if !c.given[flag] && !built {
			drop()
		}
	}
}

// localLimit is a flag that some sandboxes cannot be given.
type localLimit struct {
	feature        sandbox.Feature
	flag, variable string
	set            bool
	clear          func()
}

// localLimits are this run's limits.
func (c *runCmd) localLimits() []localLimit {
	return []localLimit{
		{sandbox.FeatureNetwork, "net", "DEFT_NET", c.Net != "", func() { c.Net = "" }},
		{sandbox.FeatureGrants, "read", "DEFT_READ", len(c.Read) > 0, func() { c.Read = nil }},
		{sandbox.FeatureGrants, "write", "DEFT_WRITE", len(c.Write) > 0, func() { c.Write = nil }},
		{sandbox.FeatureLimits, "memory", "DEFT_MEMORY", c.Memory != 0, func() { c.Memory = 0 }},
		{sandbox.FeatureLimits, "pids", "DEFT_PIDS", c.Pids != 0, func() { c.Pids = 0 }},
		{sandbox.FeatureLimits, "cpus", "DEFT_CPUS", c.CPUs != 0, func() { c.CPUs = 0 }},
	}
}

// dropLimits drops limits that the sandbox cannot be given and that variables set for
// other runs, and returns the names of these variables. Flags are an error.
func (c *runCmd) dropLimits(chosen sandbox.Choice) (ignored []string, err error) {
	for _, l := range c.localLimits() {
		asked := sandbox.Asked{Feature: l.feature, Settings: []string{"--" + l.flag}, Given: l.set}
		switch err := sandboxClasses().Refuse(chosen, asked); {
		case err == nil:
		case c.given[l.flag]:
			return nil, err
		default:
			l.clear()
			ignored = append(ignored, l.variable)
		}
	}
	return ignored, nil
}

// AfterApply does the same as for [runCmd].
func (c *demoCmd) AfterApply(k *kong.Context) error {
	return onlySandboxes(k, &c.Sandbox, withoutImages())
}

// AfterApply does the same as for [runCmd].
func (c *doctorCmd) AfterApply(k *kong.Context) error {
	if err := onlySandboxes(k, &c.Sandbox, trialClasses()); err != nil {
		return err
	}
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if !chosen.Has(sandbox.FeatureImage) && !given(k, "image") {
		c.Image = ""
	}
	return err
}

// onlySandboxes is for a command that can use some classes only.
func onlySandboxes(k *kong.Context, chosen *string, of sandbox.Classes) error {
	switch {
	case slices.Contains(of.ChoiceNames(), *chosen):
	case given(k, "sandbox"):
		return fault.New(fault.Invalid, "this command has no --sandbox "+*chosen)
	default:
		*chosen = autoSandbox
	}
	return nil
}

// given reports whether a flag is on the command line.
func given(k *kong.Context, name string) bool {
	return slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == name && !p.Resolved })
}
