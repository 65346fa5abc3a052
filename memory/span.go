package memory

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// room is how much of a view a condenser keeps.
type room struct {
	// size is the number of events beyond which the view has too many; last is how many
	// at the end stay then.
	size, last int
	first      int     // events at the start that stay
	beside     bool    // the system prompt is not one of them
	tokens     int     // beyond which the view has too many; 0 for the model's window alone
	progress   float64 // the least part of a view that is worth it
}

// needed reports whether a view has too many events or tokens.
func (c room) needed(t Turn) bool { return len(t.State.View) > c.size || c.over(t) }

// limit returns how many tokens the view may take, 0 for any number.
func (c room) limit(t Turn) int {
	switch {
	case t.Tokens == nil:
		return 0
	case c.tokens > 0 && t.Window > 0:
		return min(c.tokens, t.Window)
	}
	return max(c.tokens, t.Window)
}

// over reports whether the view takes too many tokens.
func (c room) over(t Turn) bool {
	limit := c.limit(t)
	return limit > 0 && t.Tokens.Prompt(t.State.View) > limit
}

// span returns the part of the view to forget, on atom borders; nothing if
// too little of the view could go, unless it must. Where there are too many
// tokens and no other way it takes all but the system prompt, if that helps.
func (c room) span(t Turn, over bool) (from, to int) {
	view := t.State.View
	cuts, prompt := atoms(view), prompts(view)
	least := max(c.first, prompt)
	if c.beside {
		least = prompt + c.first
	}
	from, to = c.middle(t, cuts, least, over)
	gone := to - from
	little := gone == 0 || gone < 2 && !over || float64(gone) < float64(len(view))*c.progress
	switch {
	case little && over:
		if a, z := between(cuts, prompt); c.helps(t, a, z) {
			from, to = a, z
		}
	case little && !t.State.CondensationRequested:
		return 0, 0
	case little:
		from, to = between(cuts, least)
	}
	if !slices.ContainsFunc(view[from:to], notSummary) {
		return 0, 0 // a summary of summaries gains nothing
	}
	return from, to
}

// between returns the first and the last of the cuts that are not before
// least.
func between(cuts []int, least int) (first, last int) {
	i := slices.IndexFunc(cuts, func(cut int) bool { return cut >= least })
	if i < 0 {
		return 0, 0
	}
	return cuts[i], cuts[len(cuts)-1]
}

// middle returns the part between the first least events and the tail.
func (c room) middle(t Turn, cuts []int, least int, over bool) (from, to int) {
	n := len(t.State.View)
	from, last := between(cuts, least)
	if last <= from {
		return from, from
	}
	tail := n
	if n > c.size || !over {
		tail = c.last
	}
	if t.State.CondensationRequested {
		tail = min(tail, n/2)
	}
	to = from
	for _, cut := range cuts {
		if cut >= from && cut <= n-tail {
			to = cut
		}
	}
	if !over {
		return from, to
	}
	// Remove the excess over half of the limit.
	excess := t.Tokens.Prompt(t.State.View) - c.limit(t)/2
	for _, cut := range cuts {
		if cut > from && t.Tokens.Part(t.State.View, from, cut) > excess {
			return from, max(to, cut)
		}
	}
	return from, last
}

// helps reports whether the view fits once a part of it is removed.
func (c room) helps(t Turn, from, to int) bool {
	all := t.Tokens.Prompt(t.State.View)
	return to > from && all-t.Tokens.Part(t.State.View, from, to) < c.limit(t)
}

func notSummary(ev event.Event) bool {
	_, is := ev.(*event.CondensationSummaryEvent)
	return !is
}

// prompts returns the length of the part of a view that ends with its last
// system prompt: a summary stands behind it (docs/openhands/sdk-features-1.58.md section 4).
func prompts(view []event.Event) int {
	for i, ev := range slices.Backward(view) {
		if _, is := ev.(*event.SystemPromptEvent); is {
			return i + 1
		}
	}
	return 0
}
