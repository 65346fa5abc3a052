package acpagent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Config configures an Agent. Fields, Programs, Run, Workspace and Tools are required.
type Config struct {
	Fields       *spec.ACP
	Conversation event.ConversationID
	Workspace    string
	// Tools are the finish tool and the tools of [Permissions].
	Tools *tool.Set
	// Programs starts the program, and terminals; Run runs a program to its end in the same
	// place.
	Programs tool.Starter
	Run      Run
	// Network are the hosts that the program has to reach beside the conversation's.
	Network func(hosts []string) []string
	// Secrets returns the secrets of the conversation, which the program gets as variables.
	Secrets func(ctx context.Context) map[string]string
	// Servers are the MCP servers that the program is to use.
	Servers func() ([]acp.McpServer, error)
	// Suffix is text for the program that goes with its first prompt; "" for none.
	Suffix  string
	Version string
	// Mask hides secrets in errors.
	Mask func(string) string
	Log  *slog.Logger
}

// Run runs a program in the workspace, with some input, and returns its exit code and output.
type Run func(ctx context.Context, argv []string, stdin string) (Result, error)

// Result is the end of a program of [Run].
type Result struct {
	ExitCode       int
	Stdout, Stderr string
}

// Agent is an agent that another program is.
type Agent struct {
	cfg Config

	mu      sync.Mutex // guards the fields below
	program *program   // nil before the first turn, and after its end
	closed  bool

	// Of the goroutine that steps.
	turn    *turn
	reasons []string // for refusals, which the program is told in its next turn
	model   string   // that was set while no program ran
}

var (
	_ agent.Agent  = (*Agent)(nil)
	_ agent.Acting = (*Agent)(nil)
)

// New returns an Agent.
func New(cfg Config) (*Agent, error) {
	if cfg.Fields == nil || cfg.Programs == nil || cfg.Run == nil || cfg.Tools == nil {
		return nil, fault.New(fault.Invalid, "an agent program needs a command and a place to run")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Mask == nil {
		cfg.Mask = func(text string) string { return text }
	}
	if cfg.Secrets == nil {
		cfg.Secrets = func(context.Context) map[string]string { return nil }
	}
	if cfg.Servers == nil {
		cfg.Servers = func() ([]acp.McpServer, error) { return nil, nil }
	}
	if cfg.Network == nil {
		cfg.Network = func(hosts []string) []string { return hosts }
	}
	return &Agent{cfg: cfg}, nil
}

// prompt stands in the place of the system prompt, which only the program knows, as in the reference.
const prompt = "This conversation is powered by an ACP server. The system prompt and tools are managed by the ACP server and are not available for display."

// Open implements [agent.Agent].
func (a *Agent) Open() ([]event.Event, error) {
	ev := &event.SystemPromptEvent{Base: event.NewBase(event.SourceAgent), SystemPrompt: event.Text(prompt), Tools: event.List[event.ToolDefinition]{}}
	if a.cfg.Suffix != "" {
		suffix := event.Text(a.cfg.Suffix)
		ev.DynamicContext = &suffix
	}
	return []event.Event{ev}, nil
}

// Tools implements [agent.Agent].
func (a *Agent) Tools() *tool.Set { return a.cfg.Tools }

// Acts implements [agent.Acting].
func (*Agent) Acts() bool { return true }

// Ask refuses: the program has the conversation, and a question would become part of it.
func (*Agent) Ask(context.Context, llm.Model, *state.State, event.ConversationID, string) (string, error) {
	return "", fault.New(fault.Unsupported, "another program is the agent of this conversation, and it cannot be asked aside").
		Hint("send the question as a message")
}

// Step implements [agent.Agent].
func (a *Agent) Step(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	if t.State.CondensationRequested {
		return nil, fault.New(fault.Unsupported, "the agent program keeps its own history, which Deft cannot condense").
			Hint("most programs do so by themselves")
	}
	notes := readNotes(t.State)
	if a.turn != nil {
		if len(unsent(t.State.View, a.turn.n.Prompted)) > 0 || !a.alive() { // the user wants something else
			n := a.turn.n // the state does not have them yet
			if err := a.abandon(ctx, t); err != nil {
				return nil, err
			}
			notes = n
		} else {
			a.reasons = append(a.reasons, a.turn.answer(t.State.View)...)
		}
	}
	if a.turn == nil {
		if err := a.begin(ctx, t, notes); err != nil {
			return nil, err
		}
	}
	return a.follow(ctx, t)
}

// begin starts a turn with the messages that the program does not know.
func (a *Agent) begin(ctx context.Context, t agent.Turn, n notes) error {
	p, n, err := a.ready(ctx, t, n)
	if err != nil {
		return err
	}
	blocks, last := a.promptOf(t.State.View, n, p)
	a.reasons = nil
	n.Prompted, n.SuffixInstalled = cmp.Or(last, n.Prompted), true
	a.turn = newTurn(p, n)
	a.turn.start(blocks)
	return nil
}

// follow takes the work of the program until its turn ends, or it asks.
func (a *Agent) follow(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	turn := a.turn
	limit := time.Duration(a.cfg.Fields.PromptTimeout * float64(time.Second))
	idle := time.NewTimer(limit)
	defer idle.Stop()
	for {
		evs, asked := turn.take(t)
		if len(asked) > 0 {
			evs = append(evs, turn.said(t)...)
		}
		if err := emit(t, evs); err != nil {
			return nil, err
		}
		if t.MaxCost > 0 && t.State.Stats.Cost()+turn.spent() >= t.MaxCost && turn.spent() > 0 {
			if err := a.cutOff(t); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.Limit, fmt.Sprintf("the conversation has reached its limit of %.2f dollars", t.MaxCost)).Hint("raise the limit (--max-cost) to go on")
		}
		if len(asked) > 0 {
			return turn.ask(asked), nil
		}
		select {
		case <-turn.wake:
		case <-turn.done:
			return a.ended(ctx, t)
		case <-ctx.Done():
			return nil, a.stop(ctx, t)
		case <-idle.C:
			left := turn.p.silence(limit)
			if left <= 0 {
				return nil, a.lost(t, turn.p.failed(codePrompt, fault.New(fault.Timeout, a.name()+" has been silent for "+limit.String()).
					Hint("send a message to start it again; acp_prompt_timeout is the limit")))
			}
			idle.Reset(left)
		}
	}
}

// ended ends a turn that the program has ended.
func (a *Agent) ended(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	turn := a.turn
	evs, _ := turn.take(t) // questions of an ended turn have no answer
	turn.refuse()
	if turn.err != nil || turn.p.flooding.Load() { // a program that is being ended may still end its turn well
		if err := emit(t, evs); err != nil {
			return nil, err
		}
		return nil, a.lost(t, turn.p.promptFailed(turn.err))
	}
	evs = append(evs, turn.settle(acp.ToolCallStatusCompleted)...)
	turn.bill(t)
	a.turn = nil
	if len(a.reasons) > 0 && ctx.Err() == nil { // the program was told no, and not why
		if err := emit(t, append(append(evs, turn.said(t)...), turn.n.event(a.cfg.Mask))); err != nil {
			return nil, err
		}
		if err := a.begin(ctx, t, turn.n); err != nil {
			return nil, err
		}
		return a.follow(ctx, t)
	}
	if err := emit(t, evs); err != nil {
		return nil, err
	}
	return []event.Event{turn.finish(t), turn.n.event(a.cfg.Mask)}, nil
}

// stop cancels the turn, since the user stops the run.
func (a *Agent) stop(ctx context.Context, t agent.Turn) error {
	if err := a.abandon(context.WithoutCancel(ctx), t); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// drain is how long a program has to end a turn that is cancelled.
const drain = 10 * time.Second

// abandon cancels the open turn and stores its results. A program that does not end it is ended
// itself.
func (a *Agent) abandon(ctx context.Context, t agent.Turn) error {
	turn := a.turn
	turn.refuse()
	turn.p.cancel(ctx)
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-turn.done:
	case <-timer.C:
		a.drop()
	}
	<-turn.done
	return a.close(t)
}

// cutOff ends the program in the middle of its turn, and stores the turn's results: it would spend more while
// it ends a turn that is cancelled.
func (a *Agent) cutOff(t agent.Turn) error {
	a.turn.refuse()
	a.drop()
	<-a.turn.done
	return a.close(t)
}

// lost stores the results of a turn that has failed, and returns the error of it. A program that has
// not answered as it should is ended.
func (a *Agent) lost(t agent.Turn, failure error) error {
	a.turn.refuse()
	if !a.turn.p.usable(failure) {
		a.drop()
	}
	<-a.turn.done
	if err := a.close(t); err != nil {
		return err
	}
	return failure
}

// close stores the rest of a turn that was not finished.
func (a *Agent) close(t agent.Turn) error {
	turn := a.turn
	a.turn = nil
	evs, _ := turn.take(t)
	turn.refuse()
	evs = append(append(evs, turn.settle(acp.ToolCallStatusFailed)...), turn.said(t)...)
	turn.bill(t)
	return emit(t, append(evs, turn.n.event(a.cfg.Mask)))
}

func emit(t agent.Turn, evs []event.Event) error {
	if len(evs) == 0 {
		return nil
	}
	return t.Emit(evs...)
}

func (a *Agent) alive() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.program != nil && a.program == a.turn.p
}

// drop ends the program.
func (a *Agent) drop() {
	a.mu.Lock()
	p := a.program
	a.program = nil
	a.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// Close ends the program.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.drop()
	return nil
}

// name is the program's name for users.
func (a *Agent) name() string {
	if s, ok := a.cfg.Fields.Known(); ok {
		return s.Title
	}
	return "the agent program " + path.Base(a.cfg.Fields.Command[0])
}
