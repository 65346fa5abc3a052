package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/state"
)

// runCmd works on a task.
type runCmd struct {
	Task []string `arg:"" optional:"" help:"The task, in plain language. Without one it is read from --file or from standard input."`

	File string `short:"f" help:"Read the task from a file." placeholder:"FILE" type:"path"`
	modelFlags
	Service       map[string]string `help:"Profile of another service than the agent, for example condenser=cheap. May be repeated." placeholder:"SERVICE=PROFILE"`
	Workspace     string            `short:"C" help:"Directory to work in (default: the current one)." placeholder:"DIR" type:"path"`
	MaxIterations int               `help:"Stop after this many steps." default:"500" placeholder:"N" env:"MAX_ITERATIONS"`
	MaxCost       float64           `help:"Never spend more than this many US dollars on the conversation." placeholder:"DOLLARS" env:"MAX_BUDGET_PER_TASK"`
	JSON          bool              `name:"json" help:"Print every event as a line of JSON, and a result line at the end."`
	Replay        string            `help:"Run a recorded trajectory again, without an LLM. A task, if there is one, comes after it." placeholder:"FILE" type:"path"`
	Resume        string            `help:"Go on with a conversation: its id, the start of it, or \"last\". With a task, the task is added." placeholder:"ID"`
	Export        string            `help:"Write the conversation's trajectory to a file at the end." placeholder:"FILE" type:"path"`
	Sandbox       string            `help:"Isolation of what the agent runs: auto, namespaces, landlock or none." enum:"auto,namespaces,landlock,none" default:"auto" placeholder:"LEVEL" env:"DEFT_SANDBOX"`
	Net           bool              `help:"Let the agent's commands use the network."`
	Grace         time.Duration     `help:"How long the sandbox, with what still runs in it, waits for a resume after a pause." default:"10m" placeholder:"TIME"`
	Quiet         bool              `short:"q" help:"Print only the final answer."`
	Thoughts      bool              `help:"Show the model's reasoning as well."`

	services map[string]string // profiles of services other than the agent
}

// Help is shown by `deft run --help`.
func (c *runCmd) Help() string {
	return `The agent works in a sandbox: it can write in the workspace only, sees neither your keys nor
your other files' secrets, and has no network unless you pass --net.

The final answer goes to standard output, progress to standard error when standard output is
not a terminal. Ctrl-C pauses and says how to resume; a command that runs ends by itself first.
A second Ctrl-C stops the command, a third leaves at once. Nothing that was done is lost.

Examples:
  deft run "make the tests pass"
  deft run -f task.md --max-cost 2 --workspace ~/src/app
  deft run -q < task.md > answer.md
  deft run --resume last
  deft run --resume last "now document it"
  deft run --resume last --profile strong "find out why it is slow"
  deft run --model openai/local --base-url http://localhost:8080/v1 "explain main.go"

Exit codes: 0 finished, 1 error, 2 wrong usage, 3 stuck, 4 a limit was reached,
5 refused (key, policy), 6 LLM not reachable, 7 storage, 130 interrupted.`
}

// Run works on the task until it ends.
func (c *runCmd) Run(ctx context.Context, std *streams, g *grammar) error {
	p, err := findPaths(g.Data, std.env)
	if err != nil {
		return err
	}
	task, err := c.task(std)
	if err != nil {
		return err
	}
	if err := c.check(task); err != nil {
		return err
	}
	// A reader that goes away must not stop the agent half way.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	store, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer store.Close()
	j := &job{cmd: c, std: std, store: store, paths: p, view: newView(c, std, g), task: task, title: title(task)}
	defer j.release()
	if err := j.prepare(ctx); err != nil {
		return err
	}
	return j.work(ctx)
}

// check refuses flags that make no sense before anything is done.
func (c *runCmd) check(task string) error {
	switch {
	case c.MaxIterations < 1:
		return fault.New(fault.Invalid, "--max-iterations must be at least 1").Hint("leave it out for 500")
	case c.MaxCost < 0 || math.IsNaN(c.MaxCost):
		return fault.New(fault.Invalid, "--max-cost must not be negative").Hint("leave it out for no limit")
	case c.Grace < 0:
		return fault.New(fault.Invalid, "--grace must not be negative").Hint("0 stops the sandbox when the run is paused")
	case c.JSON && c.Quiet:
		return fault.New(fault.Invalid, "--json and --quiet exclude each other").Hint("the last line of --json has the answer")
	}
	if c.Export != "" {
		return checkTarget(c.Export)
	}
	return nil
}

// prepare finds or makes the conversation and opens it.
func (j *job) prepare(ctx context.Context) error {
	setup, err := j.locate(ctx)
	if err != nil {
		return err
	}
	var replay []event.Event
	if j.cmd.Replay != "" {
		if replay, err = readTrajectory(j.cmd.Replay); err != nil {
			return err
		}
	}
	return j.start(ctx, setup, replay)
}

// start locks the conversation, creates it if it is new, and opens it. A
// replay needs no model unless there is a task after it.
func (j *job) start(ctx context.Context, setup runSetup, replay []event.Event) (err error) {
	c := j.cmd
	opts := sessionOptions{
		paths: j.paths, stream: j.store, id: j.id, workspace: j.workspace, sandbox: setup.Sandbox, network: setup.Network,
		grace: c.Grace, effort: c.Effort, limits: controller.Config{MaxIterations: c.MaxIterations}, replay: replay,
		onDelta: j.view.delta, onOutput: j.view.output, onSandbox: j.view.sandbox, onCall: j.view.thinking, onStep: j.beforeStep,
		hidden: existing(userDirs(j.std.env)...),
	}
	if c.MaxCost > 0 {
		opts.budget = broker.NewBudget(c.MaxCost)
	}
	if replay == nil || j.task != "" {
		if opts.models, j.model, err = c.open(ctx, j.std, opts.budget, hooks{j.retried, j.switched}); err != nil {
			return err
		}
	}
	if j.unlock, err = lockConversation(j.paths, j.id); err != nil {
		return err
	}
	opts.create = func(ctx context.Context) error { return j.create(ctx, setup) }
	if j.session, err = openSession(ctx, opts); err != nil {
		return err
	}
	if replay == nil && j.task == "" && !hasTask(j.session.State().View) {
		return errors.Join(fault.New(fault.Invalid, "conversation "+string(j.id)+" has no task yet").
			Hint("give one: "+j.view.again(j.id)+` "…"`), j.session.end(ctx, true))
	}
	if err := j.rename(ctx, setup); err != nil {
		return errors.Join(err, j.session.end(ctx, true))
	}
	return nil
}

// existing is a directory as a list, or nothing if it is not there.
func existing(dirs ...string) (out []string) {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// userDirs are the directories of the user's settings, profiles and secrets.
func userDirs(env func(string) string) []string {
	dirs := []string{llm.UserDir(env)}
	if dir, err := config.PersistenceDir(env); err == nil { // without a home there is none
		dirs = append(dirs, dir)
	}
	return dirs
}

// hasTask reports whether a user has said anything.
func hasTask(view []event.Event) bool {
	return slices.ContainsFunc(view, func(ev event.Event) bool {
		m, ok := ev.(*event.MessageEvent)
		return ok && m.Source == event.SourceUser
	})
}

// locate decides on the conversation, the workspace and the set-up; a resumed
// conversation keeps its own where flags do not say otherwise.
func (j *job) locate(ctx context.Context) (runSetup, error) {
	c, dir := j.cmd, j.cmd.Workspace
	setup := runSetup{Sandbox: c.Sandbox, Network: c.Net}
	if c.Resume == "" {
		j.id, j.fresh = event.NewConversationID(), true
	} else {
		id, err := resolve(ctx, j.store, c.Resume)
		if err != nil {
			return setup, err
		}
		info, err := j.store.Info(ctx, id)
		if err != nil {
			return setup, err
		}
		var old runSetup // an imported conversation has none
		if len(info.Meta.Extra) > 0 && json.Unmarshal(info.Meta.Extra, &old) == nil {
			c.modelFlags.keep(old, j.std)
			c.Service = merged(old.Services, c.Service)
			if c.Sandbox == "auto" && old.Sandbox != "" {
				setup.Sandbox = old.Sandbox
			}
			setup.Network = setup.Network || old.Network
		}
		j.id, j.meta = id, info.Meta
		dir = first(dir, info.Meta.WorkingDir)
	}
	if err := c.choose(j.std); err != nil {
		return setup, err
	}
	setup.modelSetup, setup.Services = c.modelFlags.setup(), c.Service
	ws, err := workspace(first(dir, "."), j.paths, j.std.env("HOME"))
	j.workspace = ws
	return setup, err
}

// create stores a new conversation and what it was set up with.
func (j *job) create(ctx context.Context, setup runSetup) error {
	if !j.fresh {
		return nil
	}
	extra, err := setup.encode()
	if err != nil {
		return fmt.Errorf("describe the conversation: %w", err)
	}
	if err := j.store.Create(ctx, j.id, eventstream.Meta{Title: j.title, WorkingDir: j.workspace, Extra: extra}); err != nil {
		return fmt.Errorf("create the conversation: %w", err)
	}
	evs, err := describeSetup(j.workspace, first(j.model, setup.Model), j.cmd.MaxIterations)
	if err != nil {
		return err
	}
	_, err = j.store.Append(ctx, j.id, evs...)
	return err
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func readTrajectory(path string) ([]event.Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the trajectory cannot be read").Because(err).Hint("check --replay")
	}
	defer f.Close()
	evs, err := openhands.ReadTrajectory(f)
	if err != nil {
		return nil, fmt.Errorf("read trajectory %s: %w", path, err)
	}
	if !hasTask(evs) {
		return nil, fault.New(fault.Invalid, "the trajectory "+path+" has no user message to replay").Hint("check --replay")
	}
	return evs, nil
}

// outcome turns how a run ended into an exit code.
func outcome(s *state.State, code string) error {
	switch s.Status {
	case state.Finished, state.Idle:
		return nil
	case state.Stuck:
		return exitStatus(fault.ExitStuck)
	case state.Paused:
		return exitStatus(fault.ExitInterrupted)
	}
	switch code {
	case "MaxIterationsReached", "MaxBudgetReached":
		return exitStatus(fault.ExitLimit)
	case "LLMAuthenticationError", "LLMQuotaError", "LLMContentPolicyViolationError":
		return exitStatus(fault.ExitRefused)
	case "LLMServiceUnavailableError", "LLMTimeoutError", "LLMRateLimitError":
		return exitStatus(fault.ExitUnavailable)
	case "StorageFull", "StorageCorrupt":
		return exitStatus(fault.ExitStorage)
	}
	return exitStatus(fault.ExitError)
}
