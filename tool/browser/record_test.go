package browser_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// TestRecording records a page that was open before and one that is opened then.
func TestRecording(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{"/": `<body><input aria-label=Name><p>first</p>`, "/next": `<p>second</p>`})
	u.visit("/")
	u.do(&event.BrowserStartRecordingAction{}, true)
	u.fill("Name", "Ada")
	u.visit("/next")
	u.has(u.do(&event.BrowserStopRecordingAction{}, true), "Recording stopped.", "in 1 file(s)")
	files, err := filepath.Glob(filepath.Join(u.dir, ".agent_tmp/browser_observations/*/1.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	must.Succeed(t, err)
	var events []struct {
		Type int `json:"type"`
	}
	must.Succeed(t, json.Unmarshal(raw, &events))
	whole := 0
	for _, e := range events {
		if e.Type == 2 { // a full snapshot
			whole++
		}
	}
	if whole < 2 {
		t.Errorf("%d of two pages are in the recording", whole)
	}
	u.has(string(raw), "Ada", "second")
}
