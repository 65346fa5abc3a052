package acpagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
)

// Bounds of the memory for one program, in bytes: for messages that wait, and for open calls and
// questions.
const (
	maxWaiting = 64 << 20
	maxOpen    = 16 << 20
)

// turn is one prompt and the work on it.
type turn struct {
	p    *program
	n    notes // as they are after the turn
	wake chan struct{}

	done chan struct{} // closed when resp and err are there
	resp acp.PromptResponse
	err  error

	mu      sync.Mutex // guards updates that the step has not taken
	updates []update
	size    int
	asked   []*question // without an answer
	over    bool        // questions are refused

	// Of the goroutine that steps.
	began   time.Time
	item    event.ID // the message that is being written
	text    written
	thought written
	last    string  // the text before, which is stored
	calls   []*call // that are not over
	held    int     // of them, in bytes
	plan    string
	cost    *acp.Cost
	window  int
	billed  bool
}

// update is something that the program has sent: one of the fields.
type update struct {
	text, thought []byte // pieces, which may end inside a character
	call          *callUpdate
	plan          []acp.PlanEntry
	usage         *acp.SessionUsageUpdate
	question      *question
}

func newTurn(p *program, n notes) *turn {
	return &turn{p: p, n: n, wake: make(chan struct{}, 1), done: make(chan struct{}), began: time.Now()}
}

// start sends the prompt.
func (u *turn) start(blocks []acp.ContentBlock) {
	u.p.attach(u)
	go func() {
		defer close(u.done)
		if u.resp, u.err = u.p.prompt(blocks); u.err != nil {
			u.p.lines.await(1, 0) // its last updates
		}
	}()
}

// push keeps an update until the step takes it; false says that too much waits. Parts of one text
// become one.
func (u *turn) push(one update, size int) (ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.size += size; u.size > maxWaiting {
		return false
	}
	if q := one.question; q != nil {
		if u.over {
			q.answer <- cancelled()
			return true
		}
		u.asked = append(u.asked, q)
		held := 0
		for _, waiting := range u.asked {
			held += waiting.call.size()
		}
		if held > maxOpen {
			return false
		}
	}
	if n := len(u.updates); n > 0 {
		switch last := &u.updates[n-1]; {
		case one.text != nil && last.text != nil:
			last.text = append(last.text, one.text...)
			return true
		case one.thought != nil && last.thought != nil:
			last.thought = append(last.thought, one.thought...)
			return true
		case one.plan != nil && last.plan != nil:
			last.plan = one.plan
			return true
		}
	}
	u.updates = append(u.updates, one)
	select {
	case u.wake <- struct{}{}:
	default:
	}
	return true
}

// take turns updates into events, and returns the questions among them.
func (u *turn) take(t agent.Turn) (evs []event.Event, asked []*question) {
	u.mu.Lock()
	updates := u.updates
	u.updates, u.size = nil, 0
	u.mu.Unlock()
	for _, one := range updates {
		switch {
		case one.text != nil:
			u.writing()
			if text := u.text.add(one.text); text != "" { // an empty delta says that the message is complete
				t.Delta(u.item, llm.Delta{Text: text})
			}
		case one.thought != nil:
			u.writing()
			if text := u.thought.add(one.thought); text != "" {
				t.Delta(u.item, llm.Delta{Reasoning: text})
			}
		case one.call != nil:
			if c := u.find(one.call.ID); c == nil {
				evs = append(evs, u.said(t)...)
			}
			evs = append(evs, u.called(one.call)...)
		case one.plan != nil:
			if plan := u.planned(one.plan); plan != nil {
				evs = append(append(evs, u.said(t)...), plan...)
			}
		case one.usage != nil:
			u.window = counted(one.usage.Size)
			if c := one.usage.Cost; c != nil && c.Amount >= 0 && c.Amount <= mostCost {
				u.cost = one.usage.Cost
			}
		case one.question != nil:
			one.question.merge(u.find(one.question.call.ID))
			asked = append(asked, one.question)
		}
	}
	return evs, asked
}

// written is a text that is being written.
type written struct {
	pieces.Text
	left int // bytes that were left out
}

// add adds a piece, as far as a message may be long, and returns the text that is complete.
func (w *written) add(piece []byte) string {
	part := piece[:min(len(piece), max(maxField-w.Len(), 0))]
	w.left += len(piece) - len(part)
	return w.Add(string(part))
}

// String says also how much was left out.
func (w *written) String() string {
	if w.left == 0 {
		return w.Text.String()
	}
	return w.Text.String() + fmt.Sprintf("\n[… %d bytes left out …]", w.left)
}

// writing begins a message, unless one is being written.
func (u *turn) writing() {
	if u.item == "" {
		u.item = event.NewID()
	}
}

// said ends the message that is being written. Thoughts alone stay with the next one.
func (u *turn) said(t agent.Turn) []event.Event {
	text := u.text.String()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	t.Delta(u.item, llm.Delta{}) // it is complete
	ev := &event.MessageEvent{Base: event.NewBase(event.SourceAgent), LLMMessage: event.Message{
		Role: event.RoleAssistant, Content: event.Texts(text), ReasoningContent: u.thought.String(),
	}}
	ev.ID, u.last = u.item, text
	u.item = ""
	u.text, u.thought = written{}, written{}
	return []event.Event{ev}
}

// noAnswer is the message of a program that ends its turn without one.
const noAnswer = "(The agent program has ended its turn without a message.)"

// stops says to users why a turn has ended, where it is not the program's work that has.
var stops = map[acp.StopReason]string{
	acp.StopReasonMaxTokens:       "(The agent program has stopped: its model has reached its limit of tokens.)",
	acp.StopReasonMaxTurnRequests: "(The agent program has stopped: it has reached its limit of requests in a turn.)",
	acp.StopReasonRefusal:         "(The agent program has stopped: its model refuses to go on.)",
	acp.StopReasonCancelled:       "(The agent program has cancelled its turn.)",
}

// finish is the end of the turn: the finish action that the reference makes of it, with the last
// message.
func (u *turn) finish(t agent.Turn) event.Event {
	message := u.text.String()
	if why := stops[u.resp.StopReason]; why != "" {
		message = strings.TrimSpace(message + "\n\n" + why)
	}
	if strings.TrimSpace(message) == "" {
		if message = u.last; message == "" {
			message = noAnswer
		}
	}
	u.writing()
	t.Delta(u.item, llm.Delta{})
	ev := newAction("finish", &event.FinishAction{Message: message}, map[string]any{"message": message})
	ev.ID, ev.ReasoningContent = u.item, u.thought.String()
	return ev
}

// newAction makes an action of a tool.
func newAction(name string, a event.Action, arguments any) *event.ActionEvent {
	args, err := json.Marshal(arguments)
	if err != nil {
		args = []byte("{}")
	}
	ev := &event.ActionEvent{
		Base: event.NewBase(event.SourceAgent), Thought: event.List[event.Content]{}, Action: a, ToolName: name,
		ToolCallID: string(event.NewID()), LLMResponseID: string(event.NewID()), SecurityRisk: event.RiskUnknown,
	}
	ev.ToolCall = event.ToolCall{ID: ev.ToolCallID, Name: name, Arguments: string(args), Origin: event.OriginCompletion}
	return ev
}

// planned makes the plan the conversation's list of tasks.
func (u *turn) planned(entries []acp.PlanEntry) []event.Event {
	const most = 200
	list := event.List[event.TaskItem]{}
	for _, e := range entries[:min(len(entries), most)] {
		list = append(list, event.TaskItem{Title: u.p.a.shortened(e.Content, maxTitle), Status: event.TaskStatus(string(e.Status))})
	}
	raw, err := json.Marshal(list)
	if err != nil || string(raw) == u.plan {
		return nil
	}
	u.plan = string(raw)
	ask := newAction("task_tracker", &event.TaskTrackerAction{Command: "plan", TaskList: list}, map[string]any{"command": "plan", "task_list": list})
	obs := &event.TaskTrackerObservation{Command: "plan", TaskList: list}
	obs.Content = event.Texts("The plan of the agent program.")
	return []event.Event{ask, event.NewObservationEvent(ask, obs)}
}

// bill counts the cost of the turn, as far as the program tells it.
func (u *turn) bill(t agent.Turn) {
	if u.billed {
		return
	}
	u.billed = true
	s := agent.Spending{Info: llm.Info{Name: u.p.modelName(), ContextWindow: u.window}, Response: llm.Response{ID: string(u.p.session), Latency: time.Since(u.began)}}
	s.Response.Model = s.Info.Name
	known := false
	if usage := u.resp.Usage; usage != nil {
		s.Response.Usage = llm.Usage{
			Prompt: counted(usage.InputTokens), Output: counted(usage.OutputTokens),
			CacheRead: valueOf(usage.CachedReadTokens), CacheWrite: valueOf(usage.CachedWriteTokens), Reasoning: valueOf(usage.ThoughtTokens),
		}
		known = true
	} else if in, out := quotaIn(u.resp.Meta); in+out > 0 {
		s.Response.Usage, known = llm.Usage{Prompt: in, Output: out}, true
	}
	if spent := u.spent(); spent > 0 {
		s.Response.Cost, s.Response.CostKnown, known = spent, true, true
	}
	if u.cost != nil {
		u.p.cost, u.n.Cost = u.cost.Amount, u.cost.Amount
	}
	if known {
		t.Spend(s)
	}
}

// spent is the cost of the turn so far, in US dollars. The program tells the sum of its session.
func (u *turn) spent() float64 {
	if u.cost == nil || u.cost.Currency != "USD" && u.cost.Currency != "" {
		return 0
	}
	return max(u.cost.Amount-u.p.cost, 0)
}

// Numbers beyond these are no use of a turn, and would spoil the sums: dollars, and tokens.
const (
	mostCost   = 1e6
	mostTokens = 1_000_000_000
)

// counted is a number of tokens of the program as it is counted.
func counted(n int) int {
	if n < 0 || n > mostTokens {
		return 0
	}
	return n
}

func valueOf(n *int) int {
	if n == nil {
		return 0
	}
	return counted(*n)
}

// quotaIn finds the tokens where Gemini CLI reports them: _meta.quota.token_count.
func quotaIn(meta map[string]any) (input, output int) {
	quota, _ := meta["quota"].(map[string]any)
	count, _ := quota["token_count"].(map[string]any)
	in, _ := count["input_tokens"].(float64)
	out, _ := count["output_tokens"].(float64)
	return counted(int(max(min(in, 2*mostTokens), -1))), counted(int(max(min(out, 2*mostTokens), -1)))
}
