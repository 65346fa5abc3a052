package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// changeIndexes replaces the last character of a value in all pages of indexes.
func changeIndexes(t *testing.T, path, value string) (changed string) {
	t.Helper()
	const pageSize, leafOfIndex = 4096, 0x0a
	changed = value[:len(value)-1] + "~"
	b, err := os.ReadFile(path)
	must.Succeed(t, err)
	found := false
	for at := 0; at < len(b); at += pageSize {
		page := b[at : at+pageSize]
		if page[0] == leafOfIndex && bytes.Contains(page, []byte(value)) {
			copy(page, bytes.ReplaceAll(page, []byte(value), []byte(changed)))
			found = true
		}
	}
	if !found {
		t.Fatalf("no index has %q", value)
	}
	must.Succeed(t, os.WriteFile(path, b, 0o600))
	return changed
}

// TestDamagedIndex changes an id and a kind in their indexes: the event is not
// returned as another one.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id := newConversation(t, s)
	msg := event.NewUserMessage("hello")
	if _, err := s.Append(t.Context(), id, msg); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, s.Close())
	path := filepath.Join(dir, "events.db")
	otherID := event.ID(changeIndexes(t, path, string(msg.ID)))
	otherKind := changeIndexes(t, path, msg.Kind())

	s = open(t, dir)
	if rec, err := s.Get(t.Context(), id, otherID); !fault.Is(err, fault.Corrupt) {
		t.Errorf("Get of an id that only the index has: event %q, error %v", rec.ID, err)
	}
	page, err := s.Search(t.Context(), id, eventstream.Query{Kinds: []string{otherKind}})
	if !fault.Is(err, fault.Corrupt) {
		t.Errorf("Search for a kind that only the index has: %d events, error %v", len(page.Records), err)
	}
	for rec, err := range s.Read(t.Context(), id, 1) {
		if err != nil || rec.ID != msg.ID {
			t.Errorf("Read: event %q, error %v", rec.ID, err)
		}
	}
}
