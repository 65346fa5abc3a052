package session

import (
	"sync"

	"github.com/deft-dev/deft/event"
)

// toolsSender marks messages about tools that came or went.
const toolsSender = "tools"

// notes hands on messages of a worker's resources; before the worker is there, it keeps it.
type notes struct {
	mu   sync.Mutex
	to   func(string)
	kept []string
}

// say hands a note on.
func (n *notes) say(text string) {
	n.mu.Lock()
	to := n.to
	if to == nil {
		n.kept = append(n.kept, text)
	}
	n.mu.Unlock()
	if to != nil {
		to(text)
	}
}

// open says who gets the notes.
func (n *notes) open(to func(string)) {
	n.mu.Lock()
	kept := n.kept
	n.to, n.kept = to, nil
	n.mu.Unlock()
	for _, text := range kept {
		to(text)
	}
}

// noteTools tells the model and the user that the agent's tools have changed.
func (w *worker) noteTools(text string) {
	m := event.NewUserMessage(w.c.secrets.Mask(text))
	m.Source, m.Sender = event.SourceEnvironment, toolsSender
	if err := w.Record(w.ctx, m); err != nil && w.ctx.Err() == nil {
		w.c.m.o.Log.Warn("record that tools have changed", "conversation", w.c.id, "err", err)
	}
}
