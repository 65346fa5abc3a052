package session

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Lock makes this process the only one that works on a conversation. Package
// session/conversationlock has the one that locks a file, eventstream/postgres the one of
// several machines.
type Lock interface {
	// Acquire locks a conversation until release is called or the process
	// ends. The error is of kind Conflict if it is locked already.
	Acquire(ctx context.Context, id event.ConversationID) (release func(), err error)
	// Held reports whether a conversation is locked, by whomever.
	Held(id event.ConversationID) (bool, error)
	Close() error
}

// LockWatcher is a [Lock] of several processes that notices when one of them ends.
type LockWatcher interface {
	Lock
	// Watch calls orphaned for each conversation that a process had locked when it ended,
	// whether that worked on it or not. Only one of the processes that watch is called;
	// the conversation stays locked for it until orphaned returns, and is unlocked then
	// unless orphaned acquires the lock. Watch calls lost for each conversation that this
	// process has locked and that others may take over, because it has lost its
	// connection: its worker must end and release the lock.
	//
	// Both are called in goroutines of their own, for several conversations at a time.
	// Watch returns when ctx ends or the lock is closed, with an error of kind Canceled.
	Watch(ctx context.Context, orphaned, lost func(event.ConversationID)) error
}

// LockLocator is a [Lock] of several processes that knows where each is reached.
type LockLocator interface {
	Lock
	// Holder returns the address of another process that has locked one of some
	// conversations; "" if there is none, or if this process has locked one of them.
	Holder(ctx context.Context, ids ...event.ConversationID) (address string, err error)
}
