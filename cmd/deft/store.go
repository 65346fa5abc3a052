package main

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/conversationlock"
)

// openStore opens the event store.
func openStore(ctx context.Context, p paths) (*sqlite.Store, error) {
	return sqlite.Open(ctx, p.store(), sqlite.Options{})
}

// lockConversation keeps other processes from running the same conversation,
// an agent server on the same directory among them.
func lockConversation(p paths, id event.ConversationID) (release func(), err error) {
	locks, err := conversationlock.Open(p.store())
	if err != nil {
		return nil, err
	}
	unlock, err := locks.Acquire(context.Background(), id)
	if err != nil {
		if errors.Is(err, conversationlock.ErrLocked) {
			err = fault.New(fault.Conflict, "the conversation "+string(id)+" is running in another process").
				Hint("wait for it, or stop it there")
		}
		return nil, errors.Join(err, locks.Close())
	}
	return func() {
		unlock()
		_ = locks.Close() // nothing is written to it
	}, nil
}
