package acpagent

import (
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
)

// noteSender is the sender of messages in which Deft tells the user about the program.
const noteSender = "acp"

// unsent returns the messages for the program that came after the one it was given last; all of
// them if that is not among them.
func unsent(view []event.Event, last event.ID) (out []*event.MessageEvent) {
	for _, ev := range slices.Backward(view) {
		if ev.Meta().ID == last {
			break
		}
		if m, ok := ev.(*event.MessageEvent); ok && m.Source != event.SourceAgent && m.Sender != noteSender {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return out
}

// knows reports whether the program's session has exactly this history: the message that it was
// given last is in it. Undo and other branches take it out.
func knows(view []event.Event, last event.ID) bool {
	return last == "" || slices.ContainsFunc(view, func(ev event.Event) bool { return ev.Meta().ID == last })
}

// answeredIn is the last message after which an agent has said or done something; "" for none.
func answeredIn(view []event.Event) event.ID {
	seen := false
	for _, ev := range slices.Backward(view) {
		switch e := ev.(type) {
		case *event.ActionEvent:
			seen = true
		case *event.MessageEvent:
			if e.Source == event.SourceAgent {
				seen = true
			} else if seen && e.Sender != noteSender {
				return e.ID
			}
		}
	}
	return ""
}

// goOn is the prompt of a turn that continues an interrupted one.
const goOn = "You were interrupted. Go on where you stopped."

// promptOf makes the prompt of a turn: the messages that the program does not know, and before them
// the conversation if its session is new. last is the last message in it.
func (a *Agent) promptOf(view []event.Event, n notes, p *program) (blocks []acp.ContentBlock, last event.ID) {
	messages := unsent(view, n.Prompted)
	if p.forgotten {
		if history := transcript(view, messages); history != "" {
			blocks = append(blocks, acp.TextBlock(history))
		}
	}
	for _, m := range messages {
		blocks = append(blocks, p.contentOf(m)...)
		last = m.ID
	}
	if len(a.reasons) > 0 {
		blocks = append(blocks, acp.TextBlock("The user has refused:\n- "+strings.Join(a.reasons, "\n- ")))
	} else if len(messages) == 0 {
		blocks = append(blocks, acp.TextBlock(goOn))
	}
	if a.cfg.Suffix != "" && !n.SuffixInstalled {
		blocks = append(blocks, acp.TextBlock(a.cfg.Suffix))
	}
	p.forgotten = false
	return blocks, last
}

// contentOf are the blocks of a message.
func (p *program) contentOf(m *event.MessageEvent) (blocks []acp.ContentBlock) {
	for _, c := range slices.Concat(m.LLMMessage.Content, m.ExtendedContent) {
		if c.Type != event.TypeImage {
			if strings.TrimSpace(c.Text) != "" {
				blocks = append(blocks, acp.TextBlock(c.Text))
			}
			continue
		}
		for _, url := range c.ImageURLs {
			about, data, inline := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
			switch {
			case !inline || !strings.HasPrefix(url, "data:"):
				blocks = append(blocks, acp.ResourceLinkBlock("image", url))
			case p.info.AgentCapabilities.PromptCapabilities.Image:
				blocks = append(blocks, acp.ImageBlock(data, about))
			default:
				blocks = append(blocks, acp.TextBlock("(An image was left out, since this agent program does not take images.)"))
			}
		}
	}
	return blocks
}

// maxHistory bounds the conversation that a new session is told, in bytes.
const maxHistory = 60_000

// transcript tells the conversation before some messages; "" for nothing.
func transcript(view []event.Event, before []*event.MessageEvent) string {
	var b strings.Builder
	for _, ev := range view {
		if len(before) > 0 && ev.Meta().ID == before[0].ID {
			break
		}
		switch e := ev.(type) {
		case *event.MessageEvent:
			if e.Sender != noteSender {
				said(&b, e.Source == event.SourceAgent, event.JoinText(e.LLMMessage.Content))
			}
		case *event.ActionEvent:
			if f, ok := e.Action.(*event.FinishAction); ok {
				said(&b, true, f.Message)
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "This is the conversation so far; you have no other memory of it.\n\n" + shortened(b.String(), maxHistory)
}

func said(b *strings.Builder, agent bool, text string) {
	who := "User"
	if agent {
		who = "You"
	}
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintf(b, "%s: %s\n\n", who, strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// note is a message to the user about the program.
func note(text string) event.Event {
	m := event.NewUserMessage(text)
	m.Source, m.Sender = event.SourceEnvironment, noteSender
	return m
}
