package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// view shows a run: to a person, as JSON lines, or only its answer.
type view struct {
	printer   *console.Printer // nil when nothing is shown as it happens
	screen    *screen          // what the printer writes to
	warnTo    io.Writer
	json      io.Writer // nil unless events are printed as JSON
	answer    io.Writer // where the final answer goes, nil if it is shown already
	command   string    // how the user calls deft
	rawAnswer bool      // the reader of the answer is no terminal and gets it as it is
	thoughts  bool      // the model's reasoning is shown

	mu    sync.Mutex
	last  string // the agent's last words
	level string // isolation that has been told of
	code  string // of the last ConversationErrorEvent
}

func newView(c *runCmd, std *streams, g *grammar) *view {
	v := &view{warnTo: std.err, command: "deft", thoughts: c.Thoughts, rawAnswer: !std.outTTY}
	if g.Data != "" && g.Data != std.env("DEFT_DATA") {
		v.command += " --data " + quoted(g.Data)
	}
	out, tty := std.err, std.errTTY
	if std.outTTY {
		out, tty = std.out, true
	}
	switch {
	case c.JSON:
		v.json = std.out
		return v
	case c.Quiet:
		v.answer = std.out
		return v
	}
	v.screen = &screen{out: out, color: std.color(tty), status: tty && std.env("TERM") != "dumb"}
	v.printer = console.New(console.Options{Out: v.screen, Color: std.color(tty), Thoughts: c.Thoughts})
	if !std.outTTY {
		v.answer = std.out
	}
	return v
}

// again is the command that goes on with a conversation.
func (v *view) again(id event.ConversationID) string {
	return v.command + " run --resume " + string(id)
}

// thinking shows that the model is being waited for.
func (v *view) thinking(active bool) {
	switch {
	case v.screen == nil:
	case active:
		v.screen.show("thinking…")
	default:
		v.screen.show("")
	}
}

// recall takes the agent's last words from what an earlier run left.
func (v *view) recall(s *state.State) {
	for _, ev := range s.View {
		if _, isError := ev.(*event.ConversationErrorEvent); !isError {
			v.remember(ev)
		}
	}
}

// live reports whether anything is shown as it happens.
func (v *view) live() bool { return v.printer != nil || v.json != nil }

func (v *view) record(rec eventstream.Record) {
	if v.json != nil {
		fmt.Fprintf(v.json, "%s\n", rec.JSON)
	}
	ev, err := rec.Event()
	if err != nil {
		v.warn(fmt.Sprintf("event %d cannot be shown: %v", rec.Seq, err))
		return
	}
	v.remember(ev)
	if v.printer != nil {
		v.printer.Event(ev)
	}
}

// remember keeps what the end of the run needs.
func (v *view) remember(ev event.Event) {
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

func (v *view) lastCode() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.code
}

func (v *view) delta(item event.ID, d llm.Delta) {
	if v.printer == nil {
		return
	}
	if d.Text != "" || d.Reasoning != "" && v.thoughts {
		v.screen.show("")
	}
	v.printer.Delta(item, d)
}

func (v *view) output(_ event.ID, c tool.Chunk) {
	if v.printer != nil {
		v.printer.Output(c.Text)
	}
}

func (v *view) retry(r broker.Retry) {
	if v.printer != nil { // which also drops what was shown of the failed try
		v.thinking(true)
		v.printer.Retry(fmt.Sprintf("the model did not answer (%v); trying again in %s", r.Err, r.Wait.Round(time.Second)))
	}
}

func (v *view) switched(s broker.Switched) {
	if v.printer != nil {
		v.thinking(true)
		v.printer.Retry(fmt.Sprintf("%s did not answer (%v); asking %s", s.From.Name, s.Err, s.To.Name))
	}
}

// sandbox says which isolation is in force, if it is less than it should be.
func (v *view) sandbox(box sandbox.Sandbox) {
	level := box.Report().Level
	v.mu.Lock()
	said := v.level == level
	v.level = level
	v.mu.Unlock()
	if said { // it has been started again
		return
	}
	switch level {
	case "none":
		v.warn("warning: --sandbox none: commands of the agent can do everything that you can")
	case "landlock":
		v.warn("note: the sandbox is weaker than it could be (Landlock and seccomp only); `deft doctor` says why")
	}
}

func (v *view) note(s string) {
	if v.printer != nil {
		v.printer.Note(s)
	}
}

func (v *view) warn(s string) {
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
	// CostUSD is what the calls of known price cost; Unpriced counts the others.
	CostUSD      float64 `json:"cost_usd"`
	Unpriced     int     `json:"unpriced_calls,omitempty"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Seconds      float64 `json:"seconds"`
	Diffstat     string  `json:"diffstat,omitempty"`
}

// summary ends the run's output.
func (v *view) summary(j *job, s *state.State, took time.Duration, stat string) {
	tokens := s.Stats.Tokens()
	v.mu.Lock()
	r := result{
		Type: "result", Conversation: j.id, Status: s.Status, Error: v.code, Answer: v.last,
		CostUSD: s.Stats.Cost(), Unpriced: unpriced(s.Stats), InputTokens: tokens.PromptTokens, OutputTokens: tokens.CompletionTokens,
		Seconds: took.Seconds(), Diffstat: stat,
	}
	v.mu.Unlock()
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
			s.Status, short(took), spent(s.Stats), j.id))
	}
	if v.answer != nil && s.Status == state.Finished {
		text := strings.TrimSpace(r.Answer)
		if !v.rawAnswer {
			text = safeText(text)
		}
		fmt.Fprintln(v.answer, text)
	}
	if s.Status != state.Finished && s.Status != state.Idle {
		v.warn("to go on: " + v.again(j.id))
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

// short rounds a duration to what a person reads.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// spent says what a conversation cost in tokens and money.
func spent(stats state.Stats) string {
	t := stats.Tokens()
	if t.PromptTokens+t.CompletionTokens == 0 {
		return "no LLM used"
	}
	text := fmt.Sprintf("%d tokens in (%d cached), %d out", t.PromptTokens, t.CacheReadTokens, t.CompletionTokens)
	c := stats.Cost()
	unknown := unpricedModels(stats)
	if c > 0 || len(unknown) == 0 {
		text = fmt.Sprintf("$%.4f · %s", c, text)
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
