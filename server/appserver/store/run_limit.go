package store

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// RunLimit bounds the conversations of an owner that are at work: those that run, that a
// start task is making, and that replay.
type RunLimit struct {
	// Most is how many there may be; 0 for no limit.
	Most int
	// Running returns the owner's running conversations, Most of them at most. It may use
	// another database, but not this store.
	Running func(ctx context.Context) ([]event.ConversationID, error)
}

// ErrTooManyRuns refuses a conversation too many.
var ErrTooManyRuns = fault.New(fault.RateLimit, "you have as many conversations at work as you may have").Hint("wait for one to end, or stop one")

// MayRun returns [ErrTooManyRuns] if an owner has as many conversations at work as the limit
// says. Only [Store.AddRun] holds it: this is for the steps before.
func (s *Store) MayRun(ctx context.Context, owner string, l RunLimit) error {
	if l.Most <= 0 {
		return nil
	}
	return failed(s.on(ctx).checkRuns(owner, l))
}

// admitRun is checkRuns for a transaction that begins a conversation. Until that ends no
// other one of the owner begins: a SQLite database has one transaction that writes, and
// PostgreSQL a lock.
func (t tx) admitRun(owner string, l RunLimit) error {
	if l.Most <= 0 {
		return nil
	}
	if err := t.lockOwner(owner); err != nil {
		return err
	}
	return t.checkRuns(owner, l)
}

func (t tx) checkRuns(owner string, l RunLimit) error {
	atWork := map[event.ConversationID]bool{}
	// Starting conversations first: they run before their task has ended, so none is
	// missed.
	begun, err := all(t, value[event.ConversationID], starting+" LIMIT ?", owner, l.Most)
	if err != nil {
		return err
	}
	running, err := l.Running(t.ctx)
	if err != nil {
		return err
	}
	for _, c := range append(begun, running...) {
		atWork[c] = true
	}
	if len(atWork) >= l.Most {
		return ErrTooManyRuns
	}
	return nil
}

// starting are the conversations of an owner that are started, or that replay.
const starting = "SELECT DISTINCT subject FROM app_jobs WHERE owner = ? AND kind IN ('" + StartKind + "', '" + ReplayKind + "') AND " + atWork
