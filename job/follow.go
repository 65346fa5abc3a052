package job

import (
	"context"
	"slices"
)

// Follow calls f with each state that a job is in on this server from now on, beginning with
// read, until the job has ended, f returns an error, or ctx ends. read reads the job as it is
// stored. A job that is not at work on this server is passed on once.
func (e *Engine) Follow(ctx context.Context, id string, read func(context.Context) (Job, error), f func(Job) error) error {
	// Before the store is read: a job that ends in between is then read as it ended.
	a := e.following(id)
	j, err := read(ctx)
	if err != nil {
		return err
	}
	if a == nil {
		return f(j)
	}
	for next := 0; ; {
		e.mu.Lock()
		states, changed := slices.Clone(a.states[max(0, next-a.passed):]), a.changed
		next = a.passed + len(a.states)
		working := e.now != nil && e.now.atWork[id] == a
		e.mu.Unlock()
		for i := range states {
			if err := f(states[i]); err != nil {
				return err
			}
			if states[i].State.Ended() {
				return nil
			}
		}
		if !working {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// following returns a job at work on this server, nil if there is none.
func (e *Engine) following(id string) *active {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return nil
	}
	return e.now.atWork[id]
}
