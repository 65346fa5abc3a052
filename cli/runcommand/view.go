package runcommand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// ViewOptions say how a run is shown. Out and Err are required.
type ViewOptions struct {
	Out, Err       io.Writer
	OutTTY, ErrTTY bool // whether they are terminals
	// Same says that both lead to the same file or pipe.
	Same bool
	// Color allows colours, and Status a line that is erased and drawn again,
	// where there is a terminal.
	Color, Status bool
	// Width is how many characters the terminal shows in a row now; nil or 0 if that is unknown.
	Width    func() int
	JSON     bool // every event is a line of JSON, and nothing else is shown
	Quiet    bool // only the answer is shown
	Thoughts bool // the model's reasoning is shown as well
	// Command is how the user calls deft.
	Command string
}

// View shows a run: to a person, as JSON lines, or only its answer.
type View struct {
	printer   *console.Printer // nil when nothing is shown as it happens
	screen    *screen          // the printer's writer
	warnTo    io.Writer
	json      io.Writer // nil unless events are printed as JSON
	answer    io.Writer // where the final answer goes, nil if it is shown already
	command   string    // how the user calls deft
	rawAnswer bool      // the reader of the answer is no terminal and gets it as it is
	thoughts  bool      // the model's reasoning is shown

	mu    sync.Mutex
	last  string // the agent's last words
	level string // isolation that was shown
	code  string // of the last ConversationErrorEvent

	agents subAgents
	warned console.Warnings // where there is no printer

	waiting  *waiting // for the model; nil if it is not
	calls    int      // of models, in this run
	underway int      // calls of models
	unknown  bool     // the provider does not know the model

	differences []difference // of a replay, set before the summary

	order  sync.Mutex // held while pieces and events are shown
	shown  eventstream.Seq
	next   chan struct{}       // is closed with the next event that is shown; nil if nobody waits
	pieces []session.Transient // that come after events that are not shown yet
}

// NewView returns a View.
func NewView(o ViewOptions) *View {
	v := &View{warnTo: o.Err, command: o.Command, thoughts: o.Thoughts, rawAnswer: !o.OutTTY}
	out, tty := o.Err, o.ErrTTY
	if o.OutTTY {
		out, tty = o.Out, true
	}
	switch {
	case o.JSON:
		v.json = o.Out
		if o.OutTTY {
			v.json = console.NewJSONWriter(o.Out)
		}
		return v
	case o.Quiet:
		v.answer = o.Out
		return v
	}
	v.screen = &screen{out: out, color: o.Color && tty, status: o.Status && tty, width: o.Width}
	v.printer = console.New(console.Options{Out: v.screen, Color: o.Color && tty, Thoughts: o.Thoughts, Progress: v.screen.show})
	if !o.OutTTY && !o.Same { // else the answer was shown already
		v.answer = o.Out
	}
	return v
}

// resumeCommand is the command that goes on with a conversation.
func (v *View) resumeCommand(id event.ConversationID) string {
	return v.command + " run --resume " + string(id)
}

// thinking shows that the model is being waited for.
func (v *View) thinking(active bool) {
	switch {
	case v.screen == nil:
	case active:
		v.screen.show("thinking…")
	default:
		v.screen.show("")
	}
}

// recall takes the agent's last words from an earlier run.
func (v *View) recall(s *state.State) {
	for _, ev := range s.View {
		if _, isError := ev.(*event.ConversationErrorEvent); !isError {
			v.remember(ev)
		}
	}
}

// live reports whether anything is shown as it happens.
func (v *View) live() bool { return v.printer != nil || v.json != nil }

func (v *View) record(rec eventstream.Record) {
	if v.json != nil {
		fmt.Fprintf(v.json, "%s\n", rec.JSON)
	}
	ev, err := rec.Event()
	if err != nil {
		v.Warn(fmt.Sprintf("event %d cannot be shown: %v", rec.Seq, err))
		return
	}
	v.remember(ev)
	if up, ok := ev.(*event.ConversationStateUpdateEvent); ok && v.printer == nil && v.json == nil {
		v.warnings(up)
	}
	if v.printer != nil {
		v.order.Lock()
		defer v.order.Unlock()
		v.printer.Event(ev)
		v.showUpTo(rec.Seq)
	}
}

// remember keeps facts for the end of the run.
func (v *View) remember(ev event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := ev.(type) {
	case *event.MessageEvent:
		if e.Source == event.SourceAgent {
			v.last = event.JoinText(e.LLMMessage.Content)
		}
	case *event.ObservationEvent:
		if f, ok := e.Observation.(*event.FinishObservation); ok {
			v.last = event.JoinText(f.Content)
		}
	case *event.ConversationErrorEvent:
		v.code = e.Code
		if v.printer == nil && v.json == nil {
			fmt.Fprintln(v.warnTo, "deft:", strings.ReplaceAll(safeText(e.Detail), "\n", "\n  → "))
		}
	}
}

// called counts a call of a model.
func (v *View) called(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	if e, ok := errors.AsType[*llm.Error](err); ok {
		v.unknown = e.Status == http.StatusNotFound
	}
}

// exit returns the Exit of a run that ended with a status; nil for success.
func (v *View) exit(status state.Status) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if status == state.Errored && v.unknown && v.code == "LLMBadRequestError" {
		return Exit(fault.ExitUsage)
	}
	return exitOf(status, v.code)
}

// transient shows records that are not stored: the model's text, and commands'
// output.
func (v *View) transient(t session.Transient) {
	switch {
	case t.Warning != "":
		v.Warn("warning: " + safeText(t.Warning))
	case t.Waiting != nil:
		v.waitFor(*t.Waiting)
	case v.printer == nil:
	case t.Output != nil:
		v.printer.Output(t.Output.Action, t.Output.Text)
	case t.Piece != nil && t.Piece.Content != "" && t.Piece.Field == "": // a call is shown when it is whole
		v.order.Lock()
		defer v.order.Unlock()
		if t.After > v.shown {
			v.pieces = append(v.pieces, t)
			return
		}
		v.piece(t.Piece)
	}
}

// waitFor shows that something other than a model is waited for.
func (v *View) waitFor(w session.Waiting) {
	switch {
	case v.screen == nil:
	case w.Over:
		v.screen.show("")
	case v.screen.status:
		v.screen.show("waiting for " + w.For + "…")
	default:
		v.note("… waiting for " + w.For)
	}
}

// slowAfter is how long something takes until it is said.
const slowAfter = time.Second

// slow says that something is waited for, unless over is called soon.
func (v *View) slow(what string) (over func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(slowAfter, func() {
		defer close(told)
		v.waitFor(session.Waiting{For: what})
	})
	return func() {
		if !timer.Stop() {
			<-told
			v.waitFor(session.Waiting{Over: true})
		}
	}
}

// showUpTo shows the pieces that come after an event that was shown. The caller
// holds order.
func (v *View) showUpTo(seq eventstream.Seq) {
	v.shown = seq
	if v.next != nil {
		close(v.next)
		v.next = nil
	}
	for len(v.pieces) > 0 && v.pieces[0].After <= seq {
		v.piece(v.pieces[0].Piece)
		v.pieces = v.pieces[1:]
	}
}

func (v *View) piece(p *session.Piece) {
	d := llm.Delta{Text: p.Content}
	if p.Kind == "reasoning" {
		d = llm.Delta{Reasoning: p.Content}
	}
	if d.Text != "" || v.thoughts {
		v.screen.show("")
	}
	v.printer.Delta(p.Item, d)
}

// retried shows that a call is made again, or that another model takes it over.
func (v *View) retried(r controller.Retry, err error) {
	if v.printer == nil {
		return
	}
	v.thinking(true)
	wait := time.Duration(r.Wait * float64(time.Second)).Round(time.Second)
	what := fmt.Sprintf("the model did not answer (%v); trying again in %s", err, wait)
	switch {
	case r.Change != "":
		what = fmt.Sprintf("the model refused the request (%v); asking again %s", err, r.Change)
	case r.Next != "":
		what = fmt.Sprintf("%s did not answer (%v); asking %s", r.Model, err, r.Next)
	}
	v.order.Lock()
	defer v.order.Unlock()
	v.pieces = nil
	v.printer.Retry(what) // which also drops the shown part of the failed attempt
}

// isolation warns if less isolation is in force than there should be.
func (v *View) isolation(level string) {
	v.mu.Lock()
	shown := v.level == level
	v.level = level
	v.mu.Unlock()
	if shown {
		return
	}
	switch level {
	case "none":
		v.Warn("warning: --sandbox none: commands of the agent can do everything that you can")
	case "landlock":
		v.Warn("note: the sandbox is weaker than it could be (Landlock and seccomp only); `deft doctor` says why")
	}
}

// Prompts returns where the user is asked.
func (v *View) Prompts() io.Writer {
	if v.screen != nil {
		return asking{v.screen}
	}
	return v.warnTo
}

// hold keeps back all but questions and answers until release is called, which says whether the
// user has ended the last line.
func (v *View) hold() (release func(answered bool)) {
	if v.screen == nil {
		return func(bool) {}
	}
	v.printer.EndLine()
	v.screen.hold()
	return v.screen.release
}

// await returns when the events up to seq are shown.
func (v *View) await(ctx context.Context, seq eventstream.Seq) {
	for v.printer != nil {
		v.order.Lock()
		if v.shown >= seq {
			v.order.Unlock()
			return
		}
		if v.next == nil {
			v.next = make(chan struct{})
		}
		next := v.next
		v.order.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

func (v *View) note(s string) {
	if v.printer != nil {
		v.printer.Note(s)
	}
}

// warnings shows the new warnings in an update of the conversation's state: the parts that it lacks.
func (v *View) warnings(up *event.ConversationStateUpdateEvent) {
	if v.printer != nil {
		v.printer.Event(up)
		return
	}
	for _, text := range v.warned.New(up) {
		v.Warn("warning: " + safeText(text))
	}
}

// Warn shows a line that the user should see.
func (v *View) Warn(s string) {
	if v.printer != nil {
		v.printer.Warn(s)
		return
	}
	fmt.Fprintln(v.warnTo, s)
}

// result is the last line of --json.
type result struct {
	Type         string               `json:"type"`
	Conversation event.ConversationID `json:"conversation_id"`
	Status       state.Status         `json:"status"`
	Error        string               `json:"error,omitempty"`
	Answer       string               `json:"answer"`
	// CostUSD is the cost of the calls of known price; Unpriced counts the others.
	CostUSD      float64 `json:"cost_usd"`
	Unpriced     int     `json:"unpriced_calls,omitempty"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Seconds      float64 `json:"seconds"`
	Diffstat     string  `json:"diffstat,omitempty"`
	// Differences are the steps of a replay whose results are not the recorded
	// ones.
	Differences []difference `json:"differences,omitempty"`
}

// summary ends the run's output.
func (v *View) summary(id event.ConversationID, s *state.State, took time.Duration, stat string) {
	tokens := s.Stats.Tokens()
	v.mu.Lock()
	r := result{
		Type: "result", Conversation: id, Status: s.Status, Error: v.code, Answer: v.last,
		CostUSD: s.Stats.Cost(), Unpriced: unpriced(s.Stats), InputTokens: tokens.PromptTokens, OutputTokens: tokens.CompletionTokens,
		Seconds: took.Seconds(), Diffstat: stat, Differences: v.differences,
	}
	calls := v.calls
	v.mu.Unlock()
	if s.Status == state.Finished {
		r.Error = "" // the run has gone on
	}
	if v.json != nil {
		// A struct of strings and numbers always encodes.
		b, _ := json.Marshal(r)
		fmt.Fprintf(v.json, "%s\n", b)
		return
	}
	if v.printer != nil {
		if s.Status == state.Finished && v.answer == nil {
			v.printer.Answer(r.Answer)
		}
		if stat != "" {
			v.printer.Note("\n" + strings.TrimRight(stat, "\n"))
		}
		v.printer.Note(fmt.Sprintf("%s in %s · %s · conversation %s",
			s.Status, short(took), spent(s.Stats, calls), id))
	}
	if v.answer != nil && s.Status == state.Finished {
		text := strings.TrimSpace(r.Answer)
		if !v.rawAnswer {
			text = safeText(text)
		}
		fmt.Fprintln(v.answer, text)
	}
	if s.Status != state.Finished && s.Status != state.Idle {
		v.Warn("to go on: " + v.resumeCommand(id))
	}
}

// safeText makes foreign text of several lines safe for a terminal.
func safeText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = console.Line(l)
	}
	return strings.Join(lines, "\n")
}

// short rounds a duration for people.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// spent shows the cost of a conversation in tokens and money. calls are this
// run's.
func spent(stats state.Stats, calls int) string {
	t := stats.Tokens()
	switch {
	case t.PromptTokens+t.CompletionTokens > 0:
	case stats.Cost() > 0: // another agent program tells its cost, and maybe no tokens
		return llm.Dollars(stats.Cost())
	case calls == 0:
		return "no LLM used"
	case calls == 1:
		return "1 call of the LLM, no usage known"
	default:
		return fmt.Sprintf("%d calls of the LLM, no usage known", calls)
	}
	text := fmt.Sprintf("%d tokens in (%d cached), %d out", t.PromptTokens, t.CacheReadTokens, t.CompletionTokens)
	c := stats.Cost()
	unknown := unpricedModels(stats)
	if c > 0 || len(unknown) == 0 {
		text = llm.Dollars(c) + " · " + text
	}
	if len(unknown) > 0 {
		text += " (price of " + strings.Join(unknown, ", ") + " unknown)"
	}
	return text
}

// unpriced counts the calls whose price is not known.
func unpriced(stats state.Stats) int {
	n := 0
	for _, m := range stats.UsageToMetrics {
		n += max(0, len(m.TokenUsages)-len(m.Costs))
	}
	return n
}

// unpricedModels are the models of those calls, sorted.
func unpricedModels(stats state.Stats) []string {
	calls := map[string]int{}
	for _, m := range stats.UsageToMetrics {
		for _, u := range m.TokenUsages {
			calls[u.Model]++
		}
		for _, c := range m.Costs {
			calls[c.Model]--
		}
	}
	maps.DeleteFunc(calls, func(_ string, n int) bool { return n <= 0 })
	return slices.Sorted(maps.Keys(calls))
}
