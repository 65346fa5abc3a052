package memory

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/structured"
)

//go:embed attention.md
var attentionPrompt string

var attentionSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["ids"],
	"properties":{"ids":{"type":"array","items":{"type":"integer"},"description":"the numbers of items, the most important first"}}}`)

// Attention lets a model choose which events of a view stay. A call stays with its result, and so do
// the calls of one response.
type Attention struct {
	// MaxSize is the number of events beyond which a view is reduced, to half of it; KeepFirst is
	// how many at the start stay anyway.
	MaxSize, KeepFirst int
	// Service is whose model chooses; default [Service].
	Service string

	forgets
}

// The model is shown this much of an event, and less if the request does not fit.
var attentionShrinking = shrinking{limit: 2000, retries: 5, scaling: 0.5}

func (c Attention) room() room {
	return room{size: c.MaxSize, last: max(c.MaxSize/2-c.KeepFirst, 1), first: c.KeepFirst, progress: leastProgress}
}

// Needed implements [Condenser].
func (c Attention) Needed(t Turn) bool { return c.room().needed(t) }

// Condense implements [Condenser]. The last part of the view always stays. If only the number of
// events requires a choice and the model fails to make it, the conversation continues without one.
func (c Attention) Condense(ctx context.Context, t Turn) (*event.Condensation, error) {
	view, r := t.State.View, c.room()
	over := r.over(t)
	parts := partsOf(view, max(c.KeepFirst, prompts(view)))
	if len(parts) < 2 {
		return nil, nil
	}
	last := parts[len(parts)-1]
	choice := parts[:len(parts)-1]
	var ids []int
	var response string
	m := t.LLM(cmp.Or(c.Service, Service))
	err := attentionShrinking.ask(m, func(limit int) llm.Request {
		return request(attentionPrompt, list(view, choice, limit), t.Session, attentionSchema)
	}, func(req llm.Request) error {
		answer, resp, err := structured.Ask[struct {
			IDs []int `json:"ids"`
		}](ctx, m, req)
		if err == nil {
			ids, response = answer.IDs, resp.ID
		}
		return err
	})
	switch {
	case err != nil:
		err = fmt.Errorf("choose among %d events: %w", last.from-choice[0].from, err)
		if ctx.Err() == nil && !over && !t.State.CondensationRequested {
			t.goOn(err)
			return nil, nil
		}
		return nil, err
	}
	forgotten := c.forgotten(t, choice, last, chosen(view, ids, choice), over)
	if !slices.ContainsFunc(forgotten, notSummary) {
		return nil, nil
	}
	return condensation(forgotten, response), nil
}

// part is a part of a view that stays or goes as a whole.
type part struct{ from, to int }

// partsOf returns the parts behind the first events of a view.
func partsOf(view []event.Event, least int) (parts []part) {
	cuts := atoms(view)
	for i := 1; i < len(cuts); i++ {
		if cuts[i-1] >= least {
			parts = append(parts, part{cuts[i-1], cuts[i]})
		}
	}
	return parts
}

// list shows parts to the model, with their numbers.
func list(view []event.Event, parts []part, limit int) string {
	var b strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&b, "<ITEM number=\"%d\">\n", i+1)
		for _, ev := range view[p.from:p.to] {
			b.WriteString(insideItem.Replace(clip(describe(ev), limit)))
			b.WriteByte('\n')
		}
		b.WriteString("</ITEM>\n")
	}
	return b.String()
}

// insideItem escapes text that looks like the border of an item.
var insideItem = strings.NewReplacer("<ITEM", "< ITEM", "</ITEM", "< /ITEM")

// chosen returns parts in the order of their importance: earlier summaries, the choice of the model,
// and then the newest.
func chosen(view []event.Event, ids []int, parts []part) []part {
	taken := make([]bool, len(parts))
	var out []part
	take := func(i int) {
		if i >= 0 && i < len(parts) && !taken[i] {
			taken[i] = true
			out = append(out, parts[i])
		}
	}
	for i, p := range parts {
		if !slices.ContainsFunc(view[p.from:p.to], notSummary) {
			take(i)
		}
	}
	for _, id := range ids {
		take(id - 1)
	}
	for i := range parts {
		take(len(parts) - 1 - i)
	}
	return out
}

// forgotten returns the events of the parts for which there is no room.
func (c Attention) forgotten(t Turn, parts []part, last part, order []part, over bool) []event.Event {
	view, r := t.State.View, c.room()
	events := len(view)
	if len(view) > r.size || !over {
		events = r.last
	}
	if t.State.CondensationRequested {
		events = min(events, len(view)/2)
	}
	events -= len(view) - last.from
	tokens := 0
	if over {
		tokens = r.limit(t)/2 - t.Tokens.Part(view, 0, parts[0].from) - t.Tokens.Part(view, last.from, len(view))
	}
	stays := map[part]bool{}
	for _, p := range order {
		size := p.to - p.from
		if size > events {
			break
		}
		if over {
			n := t.Tokens.Part(view, p.from, p.to)
			if n > tokens {
				continue // a smaller one may fit
			}
			tokens -= n
		}
		events -= size
		stays[p] = true
	}
	var gone []event.Event
	for _, p := range parts {
		if !stays[p] {
			gone = append(gone, view[p.from:p.to]...)
		}
	}
	return gone
}
