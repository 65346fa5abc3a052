package conversation

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/eventstream"
)

func TestKept(t *testing.T) {
	t.Parallel()
	whole := stored{Seq: 7, Snapshot: json.RawMessage(`{"id":"x","runtime_info":null}`), Config: config{Agent: json.RawMessage(`{}`)}}
	meta, err := whole.encode(eventstream.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	seq, snapshot, ok := kept(meta.Extra)
	if !ok || seq != 7 || string(snapshot) != string(whole.Snapshot) {
		t.Errorf("kept %d %s %v", seq, snapshot, ok)
	}
	// What a store has written in other words is read the long way.
	for _, extra := range []string{
		"", "{}", `{"config":{}}`, `{"seq":1,"size":0,"config":{}}`, `{"seq":1,"size":3,"snapshot":{},"config":{}}`,
		`{"seq":1,"size":99,"snapshot":{},"config":{}}`, `{"seq":x,"size":2,"snapshot":{},"config":{}}`, `{"seq":1,"size":-2,"snapshot":{},"config":{}}`,
	} {
		if _, _, ok := kept([]byte(extra)); ok {
			t.Errorf("kept takes %s", extra)
		}
	}
}
