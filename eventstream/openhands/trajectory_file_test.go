package openhands_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func TestWriteTrajectory(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	id := importFixture(t, s).ID
	var want bytes.Buffer
	must.Succeed(t, openhands.ExportTrajectory(t.Context(), s, id, &want))
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	must.Succeed(t, os.WriteFile(path, []byte("old"), 0o644))
	must.Succeed(t, openhands.CheckTarget(path))
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("checking changed the file: %q, %v", got, err)
	}
	// Half a trajectory takes nobody's place.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := openhands.WriteTrajectory(ctx, s, id, path); err == nil {
		t.Error("no error after the context's end")
	}
	if err := openhands.WriteTrajectory(t.Context(), s, "none", path); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("a failure changed the file: %q, %v", got, err)
	}
	must.Succeed(t, openhands.WriteTrajectory(t.Context(), s, id, path))
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, want %d, %v", len(got), want.Len(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBadTarget wants the same kinds of errors before and after the work.
func TestBadTarget(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	id := importFixture(t, s).ID
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	must.Succeed(t, os.Mkdir(closed, 0o500))
	for path, want := range map[string]fault.Kind{
		dir: fault.Invalid, filepath.Join(dir, "none", "out.json"): fault.Invalid, filepath.Join(closed, "out.json"): fault.Denied,
	} {
		if filepath.Dir(path) == closed && os.Geteuid() == 0 { // whom modes do not bind
			continue
		}
		before, after := openhands.CheckTarget(path), openhands.WriteTrajectory(t.Context(), s, id, path)
		if !fault.Is(before, want) || !fault.Is(after, want) || fault.HintOf(before) == "" {
			t.Errorf("%s: %v before, %v after, want %s", path, before, after, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
