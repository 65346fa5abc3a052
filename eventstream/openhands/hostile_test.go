package openhands_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
)

const (
	idA = "aaaaaaaa-0000-4000-8000-000000000001"
	idB = "aaaaaaaa-0000-4000-8000-000000000002"
	idC = "aaaaaaaa-0000-4000-8000-000000000003"
)

func pause(id, parent string) string {
	if parent != "" {
		parent = fmt.Sprintf(`"parent_id":%q,`, parent)
	}
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:00.000000","source":"user",%s"kind":"PauseEvent"}`, id, parent)
}

// writeConversation makes a directory of a conversation; files are named
// relative to it.
func writeConversation(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "0123456789abcdef0123456789abcdef")
	testtree.Write(t, dir, files)
	return dir
}

func eventFile(index int, id string) string {
	return fmt.Sprintf("events/event-%05d-%s.json", index, id)
}

const baseState = `{"id":"01234567-89ab-cdef-0123-456789abcdef"}`

func TestImportTolerates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files    map[string]string
		events   int
		problems []string // a part of each
		parents  []event.ID
	}{
		"linear": {map[string]string{"base_state.json": baseState, eventFile(0, idA): pause(idA, ""), eventFile(1, idB): pause(idB, "")},
			2, nil, []event.ID{"", ""}},
		"no state file": {map[string]string{eventFile(0, idA): pause(idA, "")},
			1, []string{"base_state.json: it cannot be read"}, []event.ID{""}},
		"half a state file": {map[string]string{"base_state.json": `{"id":`, eventFile(0, idA): pause(idA, "")},
			1, []string{"base_state.json: it cannot be read"}, []event.ID{""}},
		"torn event": {map[string]string{"base_state.json": baseState, eventFile(0, idA): pause(idA, ""), eventFile(1, idB): `{"id":"`, eventFile(2, idC): pause(idC, idB)},
			2, []string{idB + ".json: it was left out", "its parent " + idB + " is missing"}, []event.ID{"", idA}},
		"gap": {map[string]string{"base_state.json": baseState, eventFile(0, idA): pause(idA, ""), eventFile(7, idB): pause(idB, idA)},
			2, []string{"a gap"}, []event.ID{"", idA}},
		"other files": {map[string]string{"base_state.json": baseState, "events/.eventlog.lock": "", "events/notes.txt": "x", eventFile(0, idA): pause(idA, "")},
			1, []string{"notes.txt: its name"}, []event.ID{""}},
		"other id": {map[string]string{"base_state.json": baseState, eventFile(0, idB): pause(idA, "")},
			1, []string{"its event has another id"}, []event.ID{""}},
		"unknown head": {map[string]string{"base_state.json": `{"id":"01234567-89ab-cdef-0123-456789abcdef","leaf_event_id":"gone"}`, eventFile(0, idA): pause(idA, "")},
			1, []string{"leaf_event_id gone is not"}, []event.ID{""}},
		"no events": {map[string]string{"base_state.json": baseState}, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStream(t)
			rep, err := openhands.Import(t.Context(), writeConversation(t, tc.files), s, "")
			must.Succeed(t, err)
			if rep.Events != tc.events || rep.ID != "01234567-89ab-cdef-0123-456789abcdef" || len(rep.Problems) != len(tc.problems) {
				t.Fatalf("got %+v", rep)
			}
			for i, p := range rep.Problems {
				if got := p.File + ": " + p.Why; !strings.Contains(got, tc.problems[i]) {
					t.Errorf("problem %d is %q, want it to contain %q", i, got, tc.problems[i])
				}
			}
			for i, r := range readAll(t, s, rep.ID) {
				if r.ParentID != tc.parents[i] {
					t.Errorf("event %d has the parent %q, want %q", i+1, r.ParentID, tc.parents[i])
				}
			}
		})
	}
}

func TestImportEmptyHead(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	rep, err := openhands.Import(t.Context(), writeConversation(t, map[string]string{
		"base_state.json": `{"id":"01234567-89ab-cdef-0123-456789abcdef","head_is_empty":true}`, eventFile(0, idA): pause(idA, ""),
	}), s, "")
	must.Succeed(t, err)
	recs := readAll(t, s, rep.ID)
	if len(recs) != 2 || !strings.Contains(string(recs[1].JSON), `"key":"leaf_event_id","value":null`) {
		t.Fatalf("got %d events, the last is %s", len(recs), recs[len(recs)-1].JSON)
	}
	path, err := openhands.Export(t.Context(), s, rep.ID, t.TempDir())
	must.Succeed(t, err)
	b, err := os.ReadFile(filepath.Join(path, "base_state.json"))
	if err != nil || !strings.Contains(string(b), `"head_is_empty":true`) || strings.Contains(string(b), "leaf_event_id") {
		t.Fatalf("got state %s (%v)", b, err)
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"cycle":     {"base_state.json": baseState, eventFile(0, idA): pause(idA, idB), eventFile(1, idB): pause(idB, idA)},
		"own child": {"base_state.json": baseState, eventFile(0, idA): pause(idA, idA)},
		"double id": {"base_state.json": baseState, eventFile(0, idA): pause(idA, ""), eventFile(1, idB): pause(idA, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStream(t)
			_, err := openhands.Import(t.Context(), writeConversation(t, files), s, "")
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v", err)
			}
			if page, err := s.List(t.Context(), eventstream.ListQuery{}); err != nil || len(page.Infos) > 0 {
				t.Fatalf("left behind: %v (%v)", page.Infos, err)
			}
		})
	}
	s := newStream(t)
	if _, err := openhands.Import(t.Context(), filepath.Join(t.TempDir(), "none"), s, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("no directory gives %v", err)
	}
	if _, err := openhands.Import(t.Context(), t.TempDir(), s, ""); !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
		t.Errorf("an empty directory gives %v", err)
	}
}

func TestImportStaysInside(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.json")
	must.Succeed(t, os.WriteFile(secret, []byte(pause(idB, "")), 0o600))
	dir := writeConversation(t, map[string]string{"base_state.json": baseState, eventFile(0, idA): pause(idA, "")})
	must.Succeed(t, os.Symlink(secret, filepath.Join(dir, eventFile(1, idB))))
	must.Succeed(t, os.Mkdir(filepath.Join(dir, eventFile(2, idC)), 0o700))
	rep, err := openhands.Import(t.Context(), dir, newStream(t), "")
	if err != nil || rep.Events != 1 || len(rep.Problems) != 2 {
		t.Fatalf("got %+v, %v", rep, err)
	}
}

func TestExportRefusesNames(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../../../tmp/evil", "a/b", "short", "with space in it", strings.Repeat("a", 200)} {
		s := newStream(t)
		rep, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{}, strings.NewReader("["+pause(id, "")+"]"))
		must.Succeed(t, err)
		parent := t.TempDir()
		if _, err := openhands.Export(t.Context(), s, rep.ID, parent); !fault.Is(err, fault.Invalid) {
			t.Errorf("id %q gives %v", id, err)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v (%v)", left, err)
		}
	}
}
