package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
)

// TestOracle asks another model once, without the conversation's history, and counts it.
func TestOracle(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done")), nil)
	c := h.begin(t, `"tags":{}`)
	send(t, c, "go")
	settle(t, c)
	ask := h.asked.AskOracle
	if _, err := ask(t.Context(), "which?", ""); !fault.Is(err, fault.NotFound) || !strings.Contains(fault.Text(err), "no LLM profile named oracle") {
		t.Errorf("without a profile: %v", err)
	}
	h.profiles["oracle"] = `{"model":"openai/wise","api_key":"k","usage_id":"x"}`
	wise := &model{name: "openai/wise", answer: inTurn(says("the second"), says(" "))}
	h.models["openai/wise"] = wise
	got, err := ask(t.Context(), "which?", "two ways")
	if err != nil || got != "the second" {
		t.Errorf("%q, %v", got, err)
	}
	if r := wise.asked[0]; len(r.Messages) != 2 || len(r.Tools) != 0 || !strings.Contains(lastText(r), "which?") || !strings.Contains(lastText(r), "two ways") {
		t.Errorf("asked %+v", r)
	}
	if d := describe(t, c); !strings.Contains(d, `"oracle:oracle":`) || !strings.Contains(d, `"model":"openai/mock"`) {
		t.Errorf("counted as %s", d)
	}
	if _, err := ask(t.Context(), "which?", ""); err == nil {
		t.Error("an empty answer is one")
	}
	if _, err := ask(t.Context(), "which?", ""); err == nil {
		t.Error("a model that fails has answered")
	}
}

// TestRoute has a classifier choose a profile, by class and by name. What names none is an error,
// and changes nothing.
func TestRoute(t *testing.T) {
	t.Parallel()
	const classes = `{"classifier_model":"sorter","classes":[{"description":"small","model":"fast"},{"description":"large","model":"strong"}]}`
	const direct = `{"classifier_model":"sorter","classes":[],"prompt_template":"Table: {{model_table}} Task: {{ instance_text }} {{other}}","model_table":"T"}`
	for _, tt := range []struct {
		meta, params, answer string
		want                 session.Routed
		err                  string
	}{
		{classes, ``, "2", session.Routed{Class: "large", Profile: "strong", Model: "openai/strong"}, ""},
		{classes, `"active_meta_profile":"router"`, "It is 1.", session.Routed{Class: "small", Profile: "fast", Model: "openai/fast"}, ""},
		{classes, ``, "0", session.Routed{}, "names no class"},
		{classes, ``, "3", session.Routed{}, "names no class"},
		{classes, ``, "none", session.Routed{}, "names no class"},
		{"", ``, "", session.Routed{}, "there is no meta-profile"},
		{"", `"active_meta_profile":"gone"`, "", session.Routed{}, "there is no meta-profile gone"},
		{"", `"meta_profile":` + classes, "1", session.Routed{Class: "small", Profile: "fast", Model: "openai/fast"}, ""},
		{strings.Replace(classes, "sorter", "gone", 1), ``, "", session.Routed{}, "the classifier: Profile 'gone' not found"},
		{strings.Replace(classes, "strong", "gone", 1), ``, "2", session.Routed{Class: "large", Profile: "gone"}, "'gone' not found"},
		{direct, `"meta_profile_llms":{"fast":{"model":"openai/own","api_key":"k"}}`, "```json\n{\"model\": \"FAST\"}\n```", session.Routed{Class: "model: fast", Profile: "fast", Model: "openai/own"}, ""},
		{direct, `"meta_profile_llms":{"fast":{"model":"openai/own","api_key":"k"}}`, "fast.", session.Routed{Class: "model: fast", Profile: "fast", Model: "openai/own"}, ""},
		{direct, `"meta_profile_llms":{"fast":{"model":"openai/own","api_key":"k"}}`, "breakfast", session.Routed{}, "names no class"},
	} {
		h := setup(t, inTurn(says("hello")), nil)
		h.meta = tt.meta
		var asked llm.Request
		for _, name := range []string{"sorter", "fast", "strong"} {
			h.profiles[name] = fmt.Sprintf(`{"model":"openai/%s","api_key":"k","usage_id":"x"}`, name)
		}
		h.models["openai/sorter"] = &model{name: "openai/sorter", answer: func(_ context.Context, r llm.Request) (*llm.Response, error) {
			asked = r
			return says(tt.answer), nil
		}}
		c := h.begin(t, `"tags":{}`)
		send(t, c, "sort this")
		settle(t, c)
		params, err := schema.Parse([]byte("{" + tt.params + "}"))
		must.Succeed(t, err)
		got, err := h.asked.Route(t.Context(), params.(*schema.Map))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.HasSuffix(err.Error(), " ")) {
			t.Errorf("%s %s %q: %+v, %v", tt.meta, tt.params, tt.answer, got, err)
		}
		model := "openai/mock"
		if err == nil {
			model = got.Model
			if text := lastText(asked); !strings.Contains(text, "user: sort this\nagent: hello") || tt.meta == direct && !strings.HasPrefix(text, "Table: T Task: ") {
				t.Errorf("asked %q", text)
			}
		}
		if c.Agent().LLM.Model != model {
			t.Errorf("%s %q: the model is %s", tt.meta, tt.answer, c.Agent().LLM.Model)
		}
	}
}

// TestStartedBy starts a conversation once for an action, and bounds what agents start.
func TestStartedBy(t *testing.T) {
	t.Parallel()
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) { return says("done"), nil }, nil)
	c := h.begin(t, `"tags":{}`)
	action := func(text string) *event.StartChildConversationAction {
		a := &event.StartChildConversationAction{Task: text}
		a.SetDefaults()
		return a
	}
	id := event.NewID()
	child, err := c.Delegation().StartedBy(t.Context(), id, action("count"))
	must.Succeed(t, err)
	again, err := c.Delegation().StartedBy(t.Context(), id, action("count"))
	must.Succeed(t, err)
	settle(t, child)
	if again != child || status(t, child) != "finished" || child.HasWorktree() || child.Workspace() != c.Workspace() {
		t.Errorf("again %v, status %s", again == child, status(t, child))
	}
	at := child
	for n := 2; n <= 3; n++ { // the generations below c
		next, err := at.Delegation().StartedBy(t.Context(), event.NewID(), action("deeper"))
		if err != nil {
			t.Fatalf("generation %d: %v", n, err)
		}
		at = next
	}
	if _, err := at.Delegation().StartedBy(t.Context(), event.NewID(), action("too deep")); !fault.Is(err, fault.Limit) {
		t.Errorf("generation 4: %v", err)
	}
	for range 40 {
		if _, err = c.Delegation().StartedBy(t.Context(), event.NewID(), action("more")); err != nil {
			break
		}
	}
	if !fault.Is(err, fault.Limit) || !strings.Contains(err.Error(), "has started 30 others") {
		t.Errorf("many: %v", err)
	}
	h.o.HoldQueues = true
	h.restart(t)
	if _, err := h.get(t, c.ID()).Delegation().StartedBy(t.Context(), event.NewID(), action("alone")); !fault.Is(err, fault.Unsupported) {
		t.Errorf("in a program that ends: %v", err)
	}
}

// TestStartedShare has conversations that an agent starts share its limit: half of the rest for
// each, which it cannot spend itself any more.
func TestStartedShare(t *testing.T) {
	t.Parallel()
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) { return says("done"), nil }, nil)
	c := h.beginWith(t, "", func(s *session.Spec) { s.MaxCost = 8 })
	start := func(at *session.Conversation, id event.ID) *session.Conversation {
		a := &event.StartChildConversationAction{Task: "count"}
		a.SetDefaults()
		child, err := at.Delegation().StartedBy(t.Context(), id, a)
		must.Succeed(t, err)
		settle(t, child)
		return child
	}
	first := event.NewID()
	var got []float64
	child := start(c, first)
	got = append(got, child.MaxCost(), start(c, first).MaxCost(), start(c, event.NewID()).MaxCost(), start(child, event.NewID()).MaxCost())
	h.restart(t)
	got = append(got, start(h.get(t, c.ID()), event.NewID()).MaxCost())
	if want := []float64{4, 4, 2, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
}
