package session

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session/internal/title"
	"github.com/deft-dev/deft/state"
)

// Limits of titles (docs/openhands/sdk-features.md section 3), in characters.
const (
	TitleLength = 50 // of a title
	titleInput  = 1000
	titleTime   = 30 * time.Second
)

// assignedService is the service to which users assign the profile that writes titles
// (settings/profiles).
const assignedService = "titles"

// titleService is the service under which the calls of another model than the agent's
// are counted.
const titleService = "title"

// titler writes the title of a worker's conversation.
type titler struct {
	c *Conversation
	w *worker
	// first is the first message while no model has written a title for it.
	first atomic.Pointer[string]
	asked atomic.Bool // a model was asked for the title
	// bill records the cost of the title; nil if that is recorded.
	bill atomic.Pointer[func(context.Context) error]
}

// textOf returns the text after which a message names the conversation; "" if it has a title,
// or a message before this one.
func (t *titler) textOf(ev *event.MessageEvent) string {
	t.c.mu.Lock()
	wanted := t.c.rec.Autotitle && t.c.meta.Title == ""
	t.c.mu.Unlock()
	if !wanted || t.w.State().LastUserMessage != "" {
		return ""
	}
	return strings.TrimSpace(event.JoinText(ev.LLMMessage.Content))
}

// begin names the conversation after its first message: at once with the shortened message,
// and with a model's title when the agent's first turn has ended. A model that answers in
// order, or a key with a rate limit, must not give its first answer to the title. Until then
// the conversation is untitled to whoever asks for it alone ([Snapshot]).
func (t *titler) begin(text string) {
	t.c.m.running.Go(func() { t.set("", TitleFrom(text), false) })
}

// interrupted returns the text for a title that an earlier process has not written, "" if
// there is none.
func (t *titler) interrupted() string {
	t.c.mu.Lock()
	wanted, present := t.c.rec.Autotitle && !t.c.rec.Titled, t.c.meta.Title
	t.c.mu.Unlock()
	if !wanted || t.asked.Load() {
		return ""
	}
	text := firstMessage(t.w.State())
	if present != "" && present != TitleFrom(text) {
		return "" // it has another one
	}
	return text
}

// afterTurn lets a model write the title that begin has put off, or an earlier process has not
// written. The title is stored with a note that a model was asked, so that it is written once.
// After an error the message stays: a model that fails is not asked again.
func (t *titler) afterTurn() {
	text := t.first.Swap(nil)
	if text == nil {
		interrupted := t.interrupted()
		if interrupted == "" {
			return
		}
		text = &interrupted
	}
	t.asked.Store(true)
	if t.w.State().Status == state.Errored {
		t.c.m.running.Go(func() { t.set("", TitleFrom(*text), true) })
		return
	}
	t.c.m.running.Go(func() {
		ctx, cancel := context.WithTimeout(t.c.m.ctx, titleTime)
		defer cancel()
		written, err := t.write(ctx, *text, TitleLength, t.billLater)
		switch {
		case err == nil:
			t.set(TitleFrom(*text), written, true)
		case t.c.m.ctx.Err() == nil:
			t.c.m.o.Log.Info("no title from the model", "conversation", t.c.id, "err", err)
			t.set("", TitleFrom(*text), true)
		}
	})
}

// set replaces a title, unless the user has set another one meanwhile. last says that no other
// title follows.
func (t *titler) set(from, to string, last bool) {
	// A process that ends waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.c.m.ctx), titleTime)
	defer cancel()
	err := t.c.edit(ctx, func(m *eventstream.Meta) {
		if !last && m.Title == "" {
			t.c.untitled = true
		}
		if m.Title == from || m.Title == "" {
			m.Title = to
		}
		if last {
			t.c.rec.Titled, t.c.untitled = true, false
		}
	})
	if err != nil {
		t.c.m.o.Log.Warn("set the title", "conversation", t.c.id, "err", err)
	}
	if last {
		t.c.entitled()
		t.c.publish.changed(ctx)
	}
}

// billLater puts the record of a cost off until the next message, or the end of the worker: a
// client that has seen a run end finds no later event.
func (t *titler) billLater(done func(context.Context) error) error {
	t.bill.Store(&done)
	return nil
}

// recordBill records a cost that was put off.
func (t *titler) recordBill(ctx context.Context) {
	done := t.bill.Swap(nil)
	if done == nil {
		return
	}
	if err := (*done)(context.WithoutCancel(ctx)); err != nil {
		t.c.m.o.Log.Warn("record what the title cost", "conversation", t.c.id, "err", err)
	}
}

// write asks a model for a title. bill records the cost.
func (t *titler) write(ctx context.Context, text string, length int, bill func(done func(context.Context) error) error) (string, error) {
	t.c.mu.Lock()
	profile, prompt := t.c.rec.TitleProfile, t.c.rec.TitlePrompt
	t.c.mu.Unlock()
	usage := agent.UsageAgent
	if profile == "" {
		var err error
		if profile, err = t.c.m.o.Settings.Assigned(ctx, t.c.Owner(), assignedService); err != nil {
			return "", err
		}
	}
	if profile != "" {
		l, err := t.c.m.o.Settings.LLM(ctx, t.c.Owner(), profile)
		if err != nil {
			return "", err
		}
		if err := t.w.models.set(titleService, l); err != nil {
			return "", err
		}
		usage = titleService
	}
	prompt = title.Fill(prompt, title.Cut(text, titleInput), length)
	m, done := t.w.Service(usage)
	resp, err := llm.Complete(ctx, m, llm.Request{Session: string(t.c.id), Messages: []event.Message{
		{Role: event.RoleSystem, Content: []event.Content{event.Text(title.System)}},
		{Role: event.RoleUser, Content: []event.Content{event.Text(prompt)}},
	}}, func(llm.Delta) {})
	if err != nil {
		return "", err
	}
	if err := bill(done); err != nil {
		return "", err
	}
	written := title.Clean(event.JoinText(resp.Message.Content), length)
	if written == "" {
		return title.Cut(text, length), nil
	}
	return t.c.secrets.Mask(written), nil
}

// TitleFrom is the title of a conversation that no model names: its first message, as one
// line of at most [TitleLength] characters.
func TitleFrom(message string) string { return title.Cut(message, TitleLength) }

func firstMessage(s *state.State) string {
	for _, ev := range s.View {
		if m, ok := ev.(*event.MessageEvent); ok && m.Source == event.SourceUser {
			return strings.TrimSpace(event.JoinText(m.LLMMessage.Content))
		}
	}
	return ""
}
