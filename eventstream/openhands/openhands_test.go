package openhands_test

import (
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const fixture = "testdata/conversation"

func newStream(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, s.Close()) })
	return s
}

func readAll(t testing.TB, s eventstream.Stream, id event.ConversationID) (recs []eventstream.Record) {
	t.Helper()
	for r, err := range s.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		recs = append(recs, r)
	}
	return recs
}

// eventFiles returns the contents of the event files in a directory, by name.
func eventFiles(t testing.TB, dir string) (names []string, content map[string]string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "events", "event-*.json"))
	must.Succeed(t, err)
	content = map[string]string{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		must.Succeed(t, err)
		names = append(names, filepath.Base(p))
		content[filepath.Base(p)] = string(b)
	}
	sort.Strings(names)
	return names, content
}

func importFixture(t testing.TB, s eventstream.Stream) openhands.Report {
	t.Helper()
	rep, err := openhands.Import(t.Context(), fixture, s, "")
	must.Succeed(t, err)
	return rep
}

// TestImport imports files of the real SDK (testdata/make.py): its HEAD was moved
// back to the first message.
func TestImport(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	rep := importFixture(t, s)
	names, content := eventFiles(t, fixture)
	if len(rep.Problems) > 0 || rep.Events != len(names) || len(names) == 0 {
		t.Fatalf("got %+v of %d files", rep, len(names))
	}
	recs := readAll(t, s, rep.ID)
	for i, name := range names {
		if string(recs[i].JSON) != content[name] {
			t.Errorf("event %d is not as in its file", i+1)
		}
	}
	if len(recs) != len(names)+1 {
		t.Fatalf("got %d events, want the files' and one update", len(recs))
	}
	ev, err := recs[len(names)].Event()
	must.Succeed(t, err)
	up, ok := ev.(*event.ConversationStateUpdateEvent)
	if !ok || up.Key != "leaf_event_id" || string(up.Value) != `"`+string(recs[1].ID)+`"` {
		t.Errorf("the last event is %s, want an update that moves HEAD to %s", recs[len(names)].JSON, recs[1].ID)
	}
	info, err := s.Info(t.Context(), rep.ID)
	must.Succeed(t, err)
	if info.Meta.WorkingDir != "/tmp/deft-fixture/workspace" {
		t.Errorf("got meta %+v", info.Meta)
	}
	if _, err := openhands.Import(t.Context(), fixture, s, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("importing twice gives %v", err)
	}
	if n := len(readAll(t, s, rep.ID)); n != len(recs) {
		t.Errorf("the refused import left %d events of %d", n, len(recs))
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	rep := importFixture(t, s)
	parent := t.TempDir()
	path, err := openhands.Export(t.Context(), s, rep.ID, parent)
	must.Succeed(t, err)
	if want := filepath.Join(parent, rep.ID.Hex()); path != want {
		t.Errorf("exported to %s, want %s", path, want)
	}
	_, want := eventFiles(t, fixture)
	names, got := eventFiles(t, path)
	delete(got, names[len(names)-1]) // the update that moves HEAD
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := openhands.Export(t.Context(), s, rep.ID, parent); !fault.Is(err, fault.Conflict) {
		t.Errorf("exporting over it gives %v", err)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 {
		t.Errorf("the refused export left %v (%v)", left, err)
	}
	again := newStream(t)
	rep, err = openhands.Import(t.Context(), path, again, "")
	if err != nil || len(rep.Problems) > 0 {
		t.Fatal(rep, err)
	}
	if diff := cmp.Diff(readAll(t, s, rep.ID), readAll(t, again, rep.ID)); diff != "" {
		t.Errorf("second import (-first +second):\n%s", diff)
	}
}
