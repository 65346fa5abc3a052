package acpagent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/agent/acpagent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/acptest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/program"
)

func TestMain(m *testing.M) {
	if os.Getenv(acptest.Variable) != "" {
		acptest.Main(os.Args[1:])
	}
	goleak.VerifyTestMain(m)
}

// talk is a conversation with the scripted program: a controller without a store.
type talk struct {
	t     testing.TB
	a     *acpagent.Agent
	cfg   acpagent.Config
	dir   string
	allow func(*event.ActionEvent) string // the reason for a refusal, "" to allow
	limit float64                         // of costs

	mu     sync.Mutex
	events []event.Event
	deltas strings.Builder
	spent  []agent.Spending
}

// newTalk makes a conversation whose program has arguments.
func newTalk(t testing.TB, args ...string) *talk {
	t.Helper()
	self, err := os.Executable()
	must.Succeed(t, err)
	dir := t.TempDir()
	set, err := tool.NewSet(append(acpagent.Permissions(), finish.Definition())...)
	must.Succeed(t, err)
	c := &talk{t: t, dir: dir, allow: func(*event.ActionEvent) string { return "" }}
	c.cfg = acpagent.Config{
		Fields:       &spec.ACP{Command: append([]string{self}, args...), PromptTimeout: 600, StartupTimeout: 600},
		Conversation: event.NewConversationID(), Workspace: dir, Tools: set,
		Programs: program.New(program.Options{Env: append(program.HostEnv(), acptest.Variable+"=1"), Dir: dir}),
		Run: func(ctx context.Context, argv []string, stdin string) (acpagent.Result, error) {
			return runHere(ctx, dir, argv, stdin)
		},
		Mask: func(s string) string { return strings.ReplaceAll(s, "s3cret", "<secret-hidden>") },
	}
	c.start()
	return c
}

// start makes the agent, as a process does that opens the conversation.
func (c *talk) start() {
	c.t.Helper()
	var err error
	c.a, err = acpagent.New(c.cfg)
	must.Succeed(c.t, err)
	a := c.a
	c.t.Cleanup(func() { _ = a.Close() })
}

func runHere(ctx context.Context, dir string, argv []string, stdin string) (acpagent.Result, error) {
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(stdin), &out, &errs
	_ = cmd.Run() // the exit code says it
	return acpagent.Result{ExitCode: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}, nil
}

func (c *talk) add(evs ...event.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ev := range evs {
		raw, err := event.Marshal(ev) // as it is stored
		if err != nil {
			return err
		}
		if ev, err = event.Unmarshal(raw); err != nil {
			return err
		}
		c.events = append(c.events, ev)
	}
	return nil
}

func (c *talk) state() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := state.NewFold(nil)
	for i, ev := range c.events {
		must.Succeed(c.t, f.Apply(int64(i+1), ev))
	}
	return f.State()
}

// send adds a message of instructions.
func (c *talk) send(lines ...string) {
	c.t.Helper()
	must.Succeed(c.t, c.add(event.NewUserMessage(strings.Join(lines, "\n"))))
}

// step takes one step.
func (c *talk) step(ctx context.Context) ([]event.Event, error) {
	return c.a.Step(ctx, agent.Turn{
		State: c.state(), Emit: c.add, Session: c.cfg.Conversation, MaxCost: c.limit,
		Delta: func(_ event.ID, d llm.Delta) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.deltas.WriteString(d.Text)
		},
		Spend: func(s agent.Spending) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.spent = append(c.spent, s)
		},
	})
}

// run takes steps until the program ends its turn, and returns its message.
func (c *talk) run(ctx context.Context) (string, error) {
	for {
		evs, err := c.step(ctx)
		if err != nil {
			return "", err
		}
		must.Succeed(c.t, c.add(evs...))
		for _, a := range c.state().Pending {
			if f, ok := a.Action.(*event.FinishAction); ok {
				must.Succeed(c.t, c.add(event.NewObservationEvent(a, &event.FinishObservation{})))
				return f.Message, nil
			}
			if reason := c.allow(a); reason != "" {
				must.Succeed(c.t, c.add(&event.UserRejectObservation{Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID, ActionID: a.ID, RejectionReason: strings.TrimSpace(reason)}))
				continue
			}
			obs, err := acpagent.NewPermission().Execute(ctx, tool.Call{ID: a.ID, Action: a.Action, Tool: a.ToolName})
			must.Succeed(c.t, err)
			must.Succeed(c.t, c.add(event.NewObservationEvent(a, obs)))
		}
	}
}

// turn sends instructions and returns the program's last message.
func (c *talk) turn(lines ...string) string {
	c.t.Helper()
	c.send(lines...)
	got, err := c.run(c.t.Context())
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", lines, err, strings.Join(c.log(), "\n"))
	}
	return got
}

// log is the conversation in lines, without its messages of users and its notes.
func (c *talk) log() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ev := range c.events {
		switch e := ev.(type) {
		case *event.MessageEvent:
			if e.Source != event.SourceUser {
				out = append(out, string(e.Source)+": "+event.JoinText(e.LLMMessage.Content))
			}
		case *event.ACPToolCallEvent:
			line := fmt.Sprintf("call: %s [%s] %s", strings.ReplaceAll(e.Title, c.dir, "DIR"), deref(e.ToolKind), deref(e.Status))
			if len(e.Content) > 0 {
				line += " " + strings.ReplaceAll(string(e.Content), c.dir, "DIR")
			}
			out = append(out, line)
		case *event.ActionEvent:
			switch a := e.Action.(type) {
			case *event.TerminalAction:
				out = append(out, "may run: "+a.Command)
			case *event.FileEditorAction:
				out = append(out, "may "+a.Command+": "+filepath.Base(a.Path))
			case *event.MCPToolAction:
				out = append(out, e.ToolName+": "+string(a.Data))
			case *event.TaskTrackerAction:
				line := "plan:"
				for _, item := range a.TaskList {
					line += fmt.Sprintf(" %s (%s)", item.Title, item.Status)
				}
				out = append(out, line)
			case *event.FinishAction:
				out = append(out, "finish: "+a.Message)
			}
		case *event.UserRejectObservation:
			out = append(out, "refused: "+e.RejectionReason)
		}
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func noDelta(event.ID, llm.Delta) {}
