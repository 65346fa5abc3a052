package executionserver

import (
	"errors"
	"testing"

	"github.com/deft-dev/deft/tool"
)

// FuzzParseAction: whatever a client sends is an action that can be run, or a failure
// with a status.
func FuzzParseAction(f *testing.F) {
	for _, seed := range []string{
		`{"action":{"action":"run","args":{"command":"ls","blocking":true},"timeout":5}}`, `{"action":{"action":"edit","args":{"path":"a","insert_line":"3"}}}`,
		`{"action":{"action":"read","args":{"path":"a","start":-1,"end":99999999999999999999}}}`, `{"action":null}`, `{"action":{"action":"run","args":null,"timeout":1e400}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := parseAction(raw, &tool.Set{})
		if err != nil {
			var known *failure
			if !errors.As(err, &known) || known.status < 400 {
				t.Fatalf("%v has no status", err)
			}
			return
		}
		if !known[a.name] || a.timeout < 0 {
			t.Fatalf("%+v cannot be run", a)
		}
		if a.name == "run" && a.args.Command == nil || a.name == "write" && (a.args.Content == nil || a.args.Path == nil) {
			t.Fatalf("%+v lacks something", a)
		}
	})
}
