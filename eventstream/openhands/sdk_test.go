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
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

// python returns the interpreter that has the OpenHands SDK.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if path == "" {
		home, err := os.UserHomeDir()
		must.Succeed(t, err)
		path = filepath.Join(home, ".cache/deft-deps/openhands-1.58/bin/python")
	}
	err := exec.Command(path, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('openhands.sdk') is None)").Run()
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

// load starts Python once for all directories, because that takes seconds.
func load(t *testing.T, python string, args ...string) (all []loaded) {
	t.Helper()
	cmd := exec.Command(python, append([]string{"testdata/load.py"}, args...)...)
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "OPENHANDS_SUPPRESS_BANNER=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the SDK does not load the export: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		result, ok := strings.CutPrefix(line, "RESULT ")
		if !ok {
			continue
		}
		var l loaded
		must.Succeed(t, json.Unmarshal([]byte(result), &l))
		all = append(all, l)
	}
	return all
}

// TestSDKLoads lets the real SDK load the files of Export: a conversation that was
// imported from it, and one of our own.
func TestSDKLoads(t *testing.T) {
	t.Parallel()
	py := python(t)
	s := newStream(t)
	rep := importFixture(t, s)
	recs := readAll(t, s, rep.ID)
	imported := loaded{Branch: []event.ID{recs[0].ID, recs[1].ID}, Status: "finished"}
	for _, r := range recs {
		imported.Events = append(imported.Events, r.ID)
	}
	id, own := ownConversation(t, s)
	var args []string
	for _, id := range []event.ConversationID{rep.ID, id} {
		path, err := openhands.Export(t.Context(), s, id, t.TempDir())
		must.Succeed(t, err)
		args = append(args, path, string(id))
	}
	if diff := cmp.Diff([]loaded{imported, own}, load(t, py, args...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// ownConversation makes a conversation as Deft does and returns the SDK's expected
// view of it.
func ownConversation(t *testing.T, s eventstream.Stream) (event.ConversationID, loaded) {
	t.Helper()
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Title: "own", Tags: map[string]string{"a": "b"}, WorkingDir: "/w"}))
	one, two := event.NewUserMessage("one"), event.NewUserMessage("two")
	two.ParentID = one.ID
	status, err := event.NewStateUpdate("execution_status", "paused")
	must.Succeed(t, err)
	if _, err := s.Append(t.Context(), id, one, two, status); err != nil {
		t.Fatal(err)
	}
	return id, loaded{Events: []event.ID{one.ID, two.ID, status.ID}, Branch: []event.ID{one.ID, two.ID}, Status: "paused"}
}
