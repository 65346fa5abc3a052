package appserver

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	"github.com/deft-dev/deft/session"
)

// conversationLock is the lock of several servers as package session has it: the engine of
// jobs gets the ids that servers lock for their jobs.
type conversationLock struct {
	session.LockWatcher
	jobs      *job.Engine
	callbacks *callbacks.Service
}

// lockOfConversations returns lock if this server is alone.
func lockOfConversations(lock session.Lock, jobs *job.Engine, c *callbacks.Service) session.Lock {
	if w, ok := lock.(session.LockWatcher); ok {
		return conversationLock{w, jobs, c}
	}
	return lock
}

// Watch implements [session.LockWatcher].
func (l conversationLock) Watch(ctx context.Context, orphaned, lost func(event.ConversationID)) error {
	return l.LockWatcher.Watch(ctx, func(id event.ConversationID) {
		if !l.jobs.Orphaned(id) {
			l.callbacks.Orphaned(id)
			orphaned(id)
		}
	}, func(id event.ConversationID) {
		if !l.jobs.Lost(id) {
			lost(id)
		}
	})
}
