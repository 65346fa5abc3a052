package memory

import (
	"context"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
)

// Masking shows the newest results of tools, and a note in the place of older ones. Nothing is
// forgotten, and no stored event changes.
//
// A result that turns into a note changes the prompt from there on, so the provider's cache does
// not serve the rest. Therefore results are not hidden one by one: the border moves by half
// a window at once, and the model is shown between one window and one and a half.
type Masking struct {
	window int
	counts func(event.Event) bool // the unit of the window
	hides  func(*event.ObservationEvent) bool
	note   string

	mu sync.Mutex
	// The view of the last call, its shown form, how much of it counts, and how much of that is
	// before the border.
	view, shown   []event.Event
	counted, past int
}

// MaskObservations hides the results of tools before the last events, at least window.
func MaskObservations(window int) *Masking {
	return &Masking{
		window: max(window, 1), note: "[The output stood here. It is left out to save room; repeat the call if you need it.]",
		counts: func(event.Event) bool { return true },
		hides:  func(*event.ObservationEvent) bool { return true },
	}
}

// MaskBrowser hides the results of the browser before its last ones, at least window.
func MaskBrowser(window int) *Masking {
	return &Masking{
		window: max(window, 1), note: "[A web page stood here. It is left out to save room; look at the page again if you need it.]",
		counts: func(ev event.Event) bool {
			o, ok := ev.(*event.ObservationEvent)
			return ok && ofBrowser(o)
		},
		hides: ofBrowser,
	}
}

// ofBrowser reports whether a result is of a tool that browses, of either generation.
func ofBrowser(e *event.ObservationEvent) bool {
	_, ok := e.Observation.(*event.BrowserObservation)
	return ok || strings.HasPrefix(e.ToolName, "browse")
}

// masked stands in a shown view for the result of a tool.
type masked struct {
	event.ObservationBase
	kind string
}

// Kind implements [event.Observation].
func (m *masked) Kind() string { return m.kind }

// Show implements [Condenser]. While the border stands still it only looks at new events.
func (m *Masking) Show(view []event.Event) []event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !extends(view, m.view) {
		m.view, m.shown, m.counted, m.past = nil, nil, 0, 0
	}
	for _, ev := range view[len(m.view):] {
		if m.counts(ev) {
			m.counted++
		}
	}
	step := max(m.window/2, 1)
	past := max(m.counted-m.window, 0) / step * step
	if past == m.past {
		m.shown = append(m.shown, view[len(m.view):]...)
		m.view = view
		return m.shown[:len(m.shown):len(m.shown)]
	}
	m.view, m.past = view, past
	m.shown = m.hide(view, past)
	return m.shown[:len(m.shown):len(m.shown)]
}

// hide returns a view with notes in the place of the results before the border.
func (m *Masking) hide(view []event.Event, past int) []event.Event {
	shown := make([]event.Event, len(view), len(view)+len(view)/2+8)
	for i, ev := range view {
		shown[i] = ev
		if past > 0 {
			if e, ok := ev.(*event.ObservationEvent); ok && m.hides(e) && large(e.Observation.Result()) {
				shown[i] = m.noted(e)
			}
			if m.counts(ev) {
				past--
			}
		}
	}
	return shown
}

func (m *Masking) noted(e *event.ObservationEvent) event.Event {
	hidden := *e
	hidden.Observation = &masked{event.ObservationBase{Content: event.Texts(m.note), IsError: e.Observation.Result().IsError}, e.Observation.Kind()}
	return &hidden
}

// largeText is how long a result is that is worth a note.
const largeText = 200

// large reports whether a note in the place of a result saves room.
func large(r *event.ObservationBase) bool {
	n := 0
	for _, c := range r.Content {
		if len(c.ImageURLs) > 0 {
			return true
		}
		n += len(c.Text)
	}
	return n > largeText
}

// Forgets implements [Condenser].
func (*Masking) Forgets() bool { return false }

// Needed implements [Condenser].
func (*Masking) Needed(Turn) bool { return false }

// Condense implements [Condenser].
func (*Masking) Condense(context.Context, Turn) (*event.Condensation, error) { return nil, nil }
