package session

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Limits of titles (docs/openhands/sdk-features.md section 3), in characters.
const (
	TitleLength = 50 // of a title
	titleInput  = 1000
	titleTime   = 30 * time.Second
)

// assignedService is the service to which users assign the profile that writes titles.
// It is registry.Titles of package llm/registry.
const assignedService = "titles"

// titleService is the service under which the calls of another model than the agent's
// are counted.
const titleService = "title"

const titleSystem = `You name conversations between a user and a software engineer.
Answer with the title alone: one line that says what the user wants done, without
quotation marks and without a full stop, in the language of the user.`

const titlePrompt = `Write a title of at most {max_length} characters for a conversation that begins like this:

{conversation_content}`

// untitledText returns the text after which a conversation is named, "" if it is
// not to be: it has a title, or a message before this one.
func (c *Conversation) untitledText(w *worker, ev *event.MessageEvent) string {
	c.mu.Lock()
	wanted := c.rec.Autotitle && c.meta.Title == ""
	c.mu.Unlock()
	if !wanted || w.State().LastUserMessage != "" {
		return ""
	}
	return strings.TrimSpace(event.JoinText(ev.LLMMessage.Content))
}

// autotitle names the conversation after its first message: with the message,
// cut, at once, and with what a model makes of it when the agent's first turn
// has ended. A model that answers in order, or a key with a rate limit, must not
// give its first answer to the title.
func (c *Conversation) autotitle(text string) {
	c.m.running.Go(func() { c.retitle("", TitleFrom(text), false) })
}

// interruptedTitle returns the text after which a conversation is named whose title an
// earlier process has not come to, "" if there is nothing to do.
func (c *Conversation) interruptedTitle(w *worker) string {
	c.mu.Lock()
	wanted, title := c.rec.Autotitle && !c.rec.Titled, c.meta.Title
	c.mu.Unlock()
	if !wanted || w.titling.Load() {
		return ""
	}
	text := firstMessage(w.State())
	if title != "" && title != TitleFrom(text) {
		return "" // it has another one
	}
	return text
}

// titleAfterTurn has a model write the title that autotitle has put off, or that a process
// was killed before. That it was asked is stored together with the title, so that a title is
// written once. After an error the message stands: a model that fails is not asked again.
func (c *Conversation) titleAfterTurn(w *worker) {
	text := w.untitled.Swap(nil)
	if text == nil {
		interrupted := c.interruptedTitle(w)
		if interrupted == "" {
			return
		}
		text = &interrupted
	}
	w.titling.Store(true)
	if w.State().Status == state.Errored {
		c.m.running.Go(func() { c.retitle("", TitleFrom(*text), true) })
		return
	}
	c.m.running.Go(func() {
		ctx, cancel := context.WithTimeout(c.m.ctx, titleTime)
		defer cancel()
		title, err := c.writeTitle(ctx, w, *text, TitleLength, w.billLater)
		switch {
		case err == nil:
			c.retitle(TitleFrom(*text), title, true)
		case c.m.ctx.Err() == nil:
			c.m.o.Log.Info("no title from the model", "conversation", c.id, "err", err)
			c.retitle("", TitleFrom(*text), true)
		}
	})
}

// retitle replaces a title, unless the user has set another one meanwhile. last says that
// no other one is to come.
func (c *Conversation) retitle(from, to string, last bool) {
	// A process that ends waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.m.ctx), titleTime)
	defer cancel()
	err := c.edit(ctx, func(m *eventstream.Meta) {
		if m.Title == from || m.Title == "" {
			m.Title = to
		}
		c.rec.Titled = c.rec.Titled || last
	})
	if err != nil {
		c.m.o.Log.Warn("set the title", "conversation", c.id, "err", err)
	}
}

// billLater has the cost of a call recorded with the next message, or when the
// worker ends: a client that has seen a run end finds no later event.
func (w *worker) billLater(done func(context.Context) error) error {
	w.bill.Store(&done)
	return nil
}

// recordBill records a cost that was put off.
func (c *Conversation) recordBill(ctx context.Context, w *worker) {
	done := w.bill.Swap(nil)
	if done == nil {
		return
	}
	if err := (*done)(context.WithoutCancel(ctx)); err != nil {
		c.m.o.Log.Warn("record what the title cost", "conversation", c.id, "err", err)
	}
}

// writeTitle asks a model for a title. bill records what it cost.
func (c *Conversation) writeTitle(ctx context.Context, w *worker, text string, length int, bill func(done func(context.Context) error) error) (string, error) {
	c.mu.Lock()
	profile, prompt := c.rec.TitleProfile, c.rec.TitlePrompt
	c.mu.Unlock()
	usage := agent.UsageAgent
	if profile == "" {
		var err error
		if profile, err = c.m.o.Settings.Assigned(ctx, c.Owner(), assignedService); err != nil {
			return "", err
		}
	}
	if profile != "" {
		l, err := c.m.o.Settings.LLM(ctx, c.Owner(), profile)
		if err != nil {
			return "", err
		}
		if err := w.models.set(titleService, l); err != nil {
			return "", err
		}
		usage = titleService
	}
	prompt = fillTitlePrompt(prompt, cut(text, titleInput), length)
	m, done := w.Service(usage)
	resp, err := llm.Complete(ctx, m, llm.Request{Session: string(c.id), Messages: []event.Message{
		{Role: event.RoleSystem, Content: []event.Content{event.Text(titleSystem)}},
		{Role: event.RoleUser, Content: []event.Content{event.Text(prompt)}},
	}}, func(llm.Delta) {})
	if err != nil {
		return "", err
	}
	if err := bill(done); err != nil {
		return "", err
	}
	title := cleanTitle(event.JoinText(resp.Message.Content), length)
	if title == "" {
		return cut(text, length), nil
	}
	return c.secrets.Mask(title), nil
}

// fillTitlePrompt puts the conversation into a prompt, or into our own for a
// blank one. Where the prompt has no place for it, it comes behind.
func fillTitlePrompt(prompt, content string, length int) string {
	const place = "{conversation_content}"
	prompt = strings.TrimSpace(prompt)
	switch {
	case prompt == "":
		prompt = titlePrompt
	case !strings.Contains(prompt, place):
		prompt += "\n\n" + place
	}
	return strings.NewReplacer(place, content, "{max_length}", strconv.Itoa(length)).Replace(prompt)
}

var thinking = lazyregexp.New(`(?s)<think>.*?(</think>|$)`)

// cleanTitle makes one line of what a model wrote.
func cleanTitle(text string, length int) string {
	text = strings.TrimSpace(thinking().ReplaceAllString(text, ""))
	line, _, _ := strings.Cut(text, "\n")
	return cut(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), `"'`)), length)
}

// TitleFrom is the title of a conversation that no model names: its first message, as one
// line of at most [TitleLength] characters.
func TitleFrom(message string) string { return cut(message, TitleLength) }

// cut shortens a text to at most n characters.
func cut(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(n-3, 0)]) + "..."
}

// ErrNoMessages is returned for the title of a conversation without messages.
var ErrNoMessages = fault.New(fault.Invalid, "No user messages found in conversation events")

// GenerateTitle writes a title for the conversation as it is.
func (c *Conversation) GenerateTitle(ctx context.Context, length int) (string, error) {
	w, err := c.work(ctx)
	if err != nil {
		return "", err
	}
	text := firstMessage(w.State())
	if text == "" {
		return "", ErrNoMessages
	}
	title, err := c.writeTitle(ctx, w, text, length, func(done func(context.Context) error) error { return done(ctx) })
	if err != nil {
		c.m.o.Log.Info("no title from the model", "conversation", c.id, "err", err)
		return cut(text, length), nil
	}
	return title, nil
}

func firstMessage(s *state.State) string {
	for _, ev := range s.View {
		if m, ok := ev.(*event.MessageEvent); ok && m.Source == event.SourceUser {
			return strings.TrimSpace(event.JoinText(m.LLMMessage.Content))
		}
	}
	return ""
}
