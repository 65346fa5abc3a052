package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/conversationlock"
	"github.com/deft-dev/deft/internal/runcommand"
)

// openStore opens the event store.
func openStore(ctx context.Context, p paths) (*sqlite.Store, error) {
	return sqlite.Open(ctx, p.store(), sqlite.Options{})
}

// resolve finds the conversation that a user means by an id or the start of
// one; "last" is the one that was worked on last.
func resolve(ctx context.Context, s eventstream.Stream, name string) (event.ConversationID, error) {
	if id, ok := event.ParseConversationID(name); ok {
		_, err := s.Info(ctx, id)
		return id, err
	}
	want := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	var found []event.ConversationID
	q := eventstream.ListQuery{ByUpdated: true}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, info := range page.Infos {
			if name == "last" {
				return info.ID, nil
			}
			if want != "" && strings.HasPrefix(info.ID.Hex(), want) {
				found = append(found, info.ID)
			}
		}
		if page.NextID == "" {
			break
		}
		q.PageID = page.NextID
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if name == "last" {
			return "", fault.New(fault.NotFound, "there is no conversation yet").Hint(runcommand.NoTask)
		}
		return "", fault.New(fault.NotFound, "no conversation "+name).Hint("`deft conversations list` shows what is stored")
	}
	return "", fault.New(fault.Invalid, fmt.Sprintf("%d conversations begin with %s", len(found), name)).Hint("give more of the id")
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
