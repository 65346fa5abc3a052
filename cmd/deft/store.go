package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/fault"
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
			return "", fault.New(fault.NotFound, "there is no conversation yet").Hint(noTask)
		}
		return "", fault.New(fault.NotFound, "no conversation "+name).Hint("`deft conversations list` shows what is stored")
	}
	return "", fault.New(fault.Invalid, fmt.Sprintf("%d conversations begin with %s", len(found), name)).Hint("give more of the id")
}

// lockConversation keeps other processes from running the same conversation.
// The lock goes with the process.
func lockConversation(p paths, id event.ConversationID) (release func(), err error) {
	if err := os.MkdirAll(p.locks(), 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the lock directory")
	}
	f, err := os.OpenFile(filepath.Join(p.locks(), id.Hex()), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the conversation's lock")
	}
	if err := tryLock(f); err != nil {
		f.Close()
		return nil, fault.New(fault.Conflict, "the conversation "+string(id)+" is running in another process").
			Hint("wait for it, or stop it there")
	}
	return func() { f.Close() }, nil // closing unlocks
}

// tryLock locks the file, or gives up after a moment: a process that was
// killed while it started another leaves the lock with the child until that
// one's exec, and nothing tells of its end.
func tryLock(f *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || try == 20 {
			return err
		}
		<-time.After(25 * time.Millisecond)
	}
}
