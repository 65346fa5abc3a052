package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Input describes an event to a hook: the JSON on a program's standard input.
type Input struct {
	EventType    string            `json:"event_type"`
	ToolName     *string           `json:"tool_name"`
	ToolInput    json.RawMessage   `json:"tool_input"`
	ToolResponse json.RawMessage   `json:"tool_response"`
	Message      *string           `json:"message"`
	SessionID    string            `json:"session_id"`
	WorkingDir   string            `json:"working_dir"`
	Metadata     map[string]string `json:"metadata"`
}

// Program is a command that a hook runs in the workspace, in a shell.
type Program struct {
	// ID is the same whenever this hook is asked about this event: the program runs once.
	ID event.ID
	// Again says that an earlier process may have started it.
	Again   bool
	Command string
	Input   string   // on standard input
	Env     []string // NAME=VALUE, beside the environment of the agent's commands
	Timeout time.Duration
}

// Output is the result of a program.
type Output struct {
	ExitCode       int
	Stdout, Stderr string
	// Failed says why the program did not come to its own end; empty if it did.
	Failed string
}

// Host runs hooks. Its methods are called from several goroutines at once.
type Host interface {
	// Program runs a command in the conversation's sandbox. When ctx ends with the cause
	// [ErrInterrupted] the program is ended; with another cause it goes on, and a later
	// process asks for it again. The error is of kind fault.Interrupted if an earlier process
	// had started the program and its effect is unknown.
	Program(ctx context.Context, p Program) (Output, error)
	// Recorded says that the outputs of these programs are stored, and not asked for again.
	Recorded(ids ...event.ID)
	// Ask asks the conversation's model, which is counted under the name usage.
	Ask(ctx context.Context, usage, system, question string) (string, error)
	// Agent has an agent with the hook's prompt and tools do a task in a conversation with the
	// id of the hook, and returns its last answer.
	Agent(ctx context.Context, id event.ID, h Hook, task string) (string, error)
}

// ErrInterrupted is the cause of the end of hooks that the user has interrupted.
var ErrInterrupted = fault.New(fault.Canceled, "the hook was interrupted")

// Event is an event of a conversation at which hooks run.
type Event struct {
	Name string // PreToolUse …
	// About is the id of the action or message of the event: the same hook runs once for it.
	About event.ID
	// Again says that an earlier process may have run the hooks.
	Again bool

	Action       *event.ActionEvent // of tools
	ToolResponse json.RawMessage
	Message      string // of the user
	Reason       string // of the end

	Of *Config // the hooks that run; nil for all
}

// Verdict is the result of the hooks of one event.
type Verdict struct {
	Events  []event.Event // HookExecutionEvents, in the order in which the hooks ran
	Blocked bool
	Reason  string // why, if Blocked
	Context string // for the model

	programs []event.ID
}

// Runner runs the hooks of one conversation.
type Runner struct {
	host    Host
	session event.ConversationID
	dir     string

	mu         sync.Mutex
	config     *Config
	active     map[context.Context]context.CancelCauseFunc
	background sync.WaitGroup
	behind     context.Context // of hooks in the background
	close      context.CancelCauseFunc
}

// NewRunner returns the Runner of a conversation that works in dir, as programs in its sandbox
// see it; c is nil for no hooks. It must be closed.
func NewRunner(c *Config, host Host, session event.ConversationID, dir string) *Runner {
	r := &Runner{config: Merge(c), host: host, session: session, dir: dir, active: map[context.Context]context.CancelCauseFunc{}}
	r.behind, r.close = context.WithCancelCause(context.Background())
	return r
}

// Use replaces the hooks, for the events after this; c is nil for no hooks.
func (r *Runner) Use(c *Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config = Merge(c)
}

// Present returns the hooks as they are now, nil for none.
func (r *Runner) Present() *Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config
}

// Has reports whether hooks run at an event; a nil Runner has none.
func (r *Runner) Has(name string) bool {
	if r == nil {
		return false
	}
	c := r.Present()
	return c != nil && len(c.Matchers(name)) > 0
}

// Run runs the hooks of an event, one after another. At PreToolUse, UserPromptSubmit and Stop
// the first that blocks is the last to run. An error means that the sandbox cannot be reached,
// or that ctx has ended; a hook that fails by itself is recorded in its event and blocks nothing.
func (r *Runner) Run(ctx context.Context, e Event) (Verdict, error) {
	var v Verdict
	if r == nil {
		return v, nil
	}
	in := r.input(e)
	var hooks []Hook
	if c := cmp.Or(e.Of, r.Present()); c != nil {
		hooks = c.For(e.Name, deref(in.ToolName))
	}
	if len(hooks) == 0 {
		return v, nil
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return v, fmt.Errorf("describe %s to hooks: %w", e.Name, err)
	}
	ctx, end := r.begin(ctx)
	defer end()
	var extra []string
	for i, h := range hooks {
		out, err := r.one(ctx, e, h, r.id(e, i), string(raw))
		if err != nil {
			return v, err
		}
		ev := r.record(e, in, h, out)
		v.Events = append(v.Events, ev)
		if h.Type == Command && !h.Async {
			v.programs = append(v.programs, r.id(e, i))
		}
		if out.context != "" {
			extra = append(extra, out.context)
		}
		if out.blocked && !v.Blocked {
			v.Blocked, v.Reason = true, cmp.Or(out.reason, strings.TrimSpace(out.Stderr), "Blocked by hook")
			if e.Name == PreToolUse || e.Name == UserPromptSubmit || e.Name == Stop {
				break
			}
		}
	}
	v.Context = strings.Join(extra, "\n")
	return v, nil
}

// Decided returns the verdict of PreToolUse hooks that an earlier process has recorded.
func Decided(recorded []*event.HookExecutionEvent) (v Verdict) {
	for _, e := range recorded {
		if e.Blocked {
			v.Blocked, v.Reason = true, cmp.Or(deref(e.Reason), strings.TrimSpace(e.Stderr), "Blocked by hook")
			return v
		}
	}
	return v
}

// Recorded says that the events of a verdict are stored.
func (r *Runner) Recorded(v Verdict) {
	if len(v.programs) > 0 {
		r.host.Recorded(v.programs...)
	}
}

// Interrupt ends the hooks that run, except those in the background.
func (r *Runner) Interrupt() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.active {
		cancel(ErrInterrupted)
	}
}

// Close ends the hooks in the background and waits for them. The Runner can be used again.
func (r *Runner) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.close(ErrInterrupted)
	r.behind, r.close = context.WithCancelCause(context.Background())
	r.mu.Unlock()
	r.background.Wait()
}

// begin registers hooks that can be interrupted until end is called.
func (r *Runner) begin(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active[ctx] = cancel
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.active, ctx)
	}
}

// id returns the id of the i-th hook of an event.
func (r *Runner) id(e Event, i int) event.ID {
	return event.ID(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "deft hook %s %s %s %d", r.session, e.Name, e.About, i)).String())
}

func (r *Runner) input(e Event) Input {
	in := Input{
		EventType: e.Name, SessionID: string(r.session), WorkingDir: r.dir, Metadata: map[string]string{},
		ToolInput: json.RawMessage("null"), ToolResponse: json.RawMessage("null"),
	}
	if a := e.Action; a != nil {
		in.ToolName = &a.ToolName
		if raw, err := event.MarshalAction(a.Action); err == nil {
			in.ToolInput = raw
		}
	}
	if len(e.ToolResponse) > 0 {
		in.ToolResponse = e.ToolResponse
	}
	if e.Name == UserPromptSubmit {
		in.Message = &e.Message
	}
	if e.Reason != "" {
		in.Metadata["reason"] = e.Reason
	}
	return in
}

// outcome is the result of one hook.
type outcome struct {
	Output
	success, blocked bool
	reason, context  string
}

// defaultTimeout bounds a hook that names no limit (docs/openhands/sdk-wire.md section 5.4).
const defaultTimeout = time.Minute

func (h Hook) timeout() time.Duration {
	if h.Timeout <= 0 {
		return defaultTimeout
	}
	return time.Duration(min(h.Timeout, math.MaxInt32)) * time.Second
}

// defaultIterations are the steps of an agent that names no limit.
const defaultIterations = 3

// Iterations are the steps that the agent of a hook may make.
func (h Hook) Iterations() int {
	if h.MaxIterations <= 0 {
		return defaultIterations
	}
	return h.MaxIterations
}

// Title names a hook to people: its command, or its type and name.
func (h Hook) Title() string {
	switch {
	case h.Command != "":
		return h.Command
	case h.Name != nil:
		return h.Type + "-hook:" + *h.Name
	}
	text := cmp.Or(deref(h.SystemPrompt), h.Type)
	if h.Type == Prompt {
		text = deref(h.Prompt)
	}
	return h.Type + "-hook:" + clipped(text, 20)
}

// one runs a hook.
func (r *Runner) one(ctx context.Context, e Event, h Hook, id event.ID, input string) (outcome, error) {
	switch {
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return interrupted, nil
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	}
	if h.Type != Command {
		return r.ask(ctx, e, h, id, input)
	}
	p := Program{ID: id, Again: e.Again, Command: h.Command, Input: input, Timeout: h.timeout(), Env: []string{
		"OPENHANDS_PROJECT_DIR=" + r.dir, "OPENHANDS_SESSION_ID=" + string(r.session), "OPENHANDS_EVENT_TYPE=" + e.Name,
	}}
	if e.Action != nil {
		p.Env = append(p.Env, "OPENHANDS_TOOL_NAME="+e.Action.ToolName)
	}
	if h.Async {
		r.mu.Lock()
		behind := r.behind
		r.mu.Unlock()
		r.background.Go(func() {
			_, _ = r.host.Program(behind, p) // nobody waits for its result
			r.host.Recorded(id)
		})
		return outcome{success: true}, nil
	}
	out, err := r.host.Program(ctx, p)
	switch {
	case fault.Is(err, fault.Interrupted):
		return outcome{Output: Output{ExitCode: -1, Failed: "it was cut off by a crash"},
			blocked: e.Name == PreToolUse, reason: "a hook that decides about this call was cut off by a crash"}, nil
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return interrupted, nil
	case err != nil:
		return outcome{}, fmt.Errorf("run the %s hook %q: %w", e.Name, clipped(h.Command, 80), err)
	}
	return judged(out), nil
}

// interrupted is the outcome of a hook that the user has interrupted.
var interrupted = outcome{Output: Output{ExitCode: -1, Failed: "it was interrupted"}}

// judged reads the exit code and the JSON on standard output of a program
// (docs/openhands/sdk-features.md section 6). Exit code 2 blocks; others but 0 are errors that
// block nothing. Neither does output that is meant as JSON and cannot be read, which is an error too.
func judged(out Output) outcome {
	o := outcome{Output: out, success: out.ExitCode == 0 && out.Failed == "", blocked: out.ExitCode == 2}
	var said struct {
		Decision, Reason, AdditionalContext, Continue any
	}
	if err := json.Unmarshal([]byte(out.Stdout), &said); err != nil {
		if strings.HasPrefix(strings.TrimSpace(out.Stdout), "{") { // else any other text
			o.misread("its output begins like JSON and is not: " + err.Error())
		}
		return o
	}
	switch d, ok := said.Decision.(string); {
	case said.Decision == nil, strings.EqualFold(d, "allow"):
	case strings.EqualFold(d, "deny"):
		o.blocked = true
	case ok:
		o.misread(fmt.Sprintf("its decision is %q, neither \"allow\" nor \"deny\"", clipped(d, 80)))
	default:
		o.misread("its decision is no text")
	}
	o.reason, o.context = text(said.Reason), text(said.AdditionalContext)
	switch c := said.Continue.(type) {
	case nil:
	case bool:
		o.blocked = o.blocked || !c
	default:
		o.misread("its continue is neither true nor false")
	}
	return o
}

// misread notes that the hook meant to say something that cannot be read.
func (o *outcome) misread(why string) {
	if !o.success || o.blocked {
		return // which says more
	}
	o.success, o.Failed = false, why+"; it refuses nothing"
}

// text is a JSON value as text; empty for none.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// maxLog bounds the texts of a HookExecutionEvent, in characters.
const maxLog = 50_000

// record describes a hook that ran.
func (r *Runner) record(e Event, in Input, h Hook, o outcome) *event.HookExecutionEvent {
	ev := &event.HookExecutionEvent{
		Base: event.NewBase(event.SourceHook), HookEventType: e.Name, HookCommand: h.Title(),
		ToolName: deref(in.ToolName), Success: o.success, Blocked: o.blocked, ExitCode: o.ExitCode,
		Stdout: logged(o.Stdout), Stderr: logged(o.Stderr),
		Reason: optional(logged(o.reason)), AdditionalContext: optional(logged(o.context)), Error: optional(logged(o.Failed)),
	}
	var about map[string]any
	switch e.Name {
	case PreToolUse:
		ev.ActionID, about = e.About, map[string]any{"tool_name": in.ToolName, "tool_input": in.ToolInput}
	case PostToolUse:
		ev.ActionID, about = e.About, map[string]any{"tool_name": in.ToolName, "tool_input": in.ToolInput, "tool_response": in.ToolResponse}
	case UserPromptSubmit:
		ev.MessageID, about = e.About, map[string]any{"message": in.Message}
	case Stop:
		about = map[string]any{"reason": e.Reason}
	}
	if about != nil {
		if raw, err := json.Marshal(about); err == nil {
			ev.HookInput = raw
		}
	}
	return ev
}

// logged shortens a text for an event.
func logged(s string) string {
	const end = "\n<TRUNCATED>"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxLog || utf8.RuneCountInString(s) <= maxLog {
		return s
	}
	return string([]rune(s)[:maxLog-len(end)]) + end
}

func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
