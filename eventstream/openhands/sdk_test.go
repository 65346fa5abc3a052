package openhands_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/google/go-cmp/cmp"
)

// python returns the interpreter that has the OpenHands SDK.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(home, ".cache/deft-deps/openhands-1.58/bin/python")
	}
	err := exec.Command(path, "-c", "import openhands.sdk").Run()
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s cannot import openhands.sdk: %v", path, err)
	}
	t.Skipf("set DEFT_OPENHANDS_PYTHON to a Python with openhands-sdk 1.58.0: %s: %v", path, err)
	return ""
}

type loaded struct {
	Events []event.ID `json:"events"`
	Branch []event.ID `json:"branch"`
	Status string     `json:"status"`
}

func load(t *testing.T, python, dir string, id event.ConversationID) loaded {
	t.Helper()
	cmd := exec.Command(python, "testdata/load.py", dir, string(id))
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "OPENHANDS_SUPPRESS_BANNER=1", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	_, result, ok := strings.Cut(string(out), "RESULT ")
	if err != nil || !ok {
		t.Fatalf("the SDK does not load the export: %v\n%s", err, out)
	}
	var l loaded
	if err := json.NewDecoder(strings.NewReader(result)).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSDKLoads lets the real SDK load what Export wrote.
func TestSDKLoads(t *testing.T) {
	t.Parallel()
	py := python(t)
	t.Run("imported", func(t *testing.T) {
		t.Parallel()
		s := newStream(t)
		rep := importFixture(t, s)
		recs := readAll(t, s, rep.ID)
		got := exportAndLoad(t, py, s, rep.ID)
		want := loaded{Branch: []event.ID{recs[0].ID, recs[1].ID}, Status: "finished"}
		for _, r := range recs {
			want.Events = append(want.Events, r.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("our own", func(t *testing.T) {
		t.Parallel()
		s := newStream(t)
		id := event.NewConversationID()
		if err := s.Create(t.Context(), id, eventstream.Meta{Title: "own", Tags: map[string]string{"a": "b"}, WorkingDir: "/w"}); err != nil {
			t.Fatal(err)
		}
		one, two := event.NewUserMessage("one"), event.NewUserMessage("two")
		two.ParentID = one.ID
		status, err := event.NewStateUpdate("execution_status", "paused")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), id, one, two, status); err != nil {
			t.Fatal(err)
		}
		want := loaded{
			Events: []event.ID{one.ID, two.ID, status.ID}, Branch: []event.ID{one.ID, two.ID}, Status: "paused",
		}
		if diff := cmp.Diff(want, exportAndLoad(t, py, s, id)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func exportAndLoad(t *testing.T, py string, s eventstream.Stream, id event.ConversationID) loaded {
	t.Helper()
	path, err := openhands.Export(t.Context(), s, id, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return load(t, py, path, id)
}
