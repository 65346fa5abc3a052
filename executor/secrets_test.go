package executor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/tool"
)

// TestSecretsAreNotKept: the tool gets them and the journal does not, whatever the tool
// makes of them.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	f, err := os.Create(path)
	must.Succeed(t, err)
	j, err := executor.OpenJournal(f)
	must.Succeed(t, err)
	var got string
	x := executor.New(map[string]tool.Executor{runtimetest.Kind: runtimetest.Func(
		func(_ context.Context, c tool.Call) (event.Observation, error) {
			if c.Secrets != nil {
				got = c.Secrets["TOKEN"]
			}
			switch c.ID {
			case "fails":
				return nil, fault.New(fault.Denied, "no entry for "+got).Hint("not even with " + got)
			case "panics":
				panic(got)
			case "environment":
				return runtimetest.Observation("told-before"), nil
			}
			return runtimetest.Observation("the token is " + got + ", " + base64.StdEncoding.EncodeToString([]byte(got))), nil
		})}, j)
	x.Mask("told-before")
	// The later ones bring none: a shell keeps the variables of earlier commands.
	secrets := tool.Secrets{"TOKEN": "hush-hush"}
	results := map[event.ID]string{}
	for _, id := range []event.ID{"brings", "later", "fails", "panics", "environment"} {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: runtimetest.Action(""), Secrets: secrets}})
		if got != "hush-hush" {
			t.Fatalf("the tool got %q", got)
		}
		if results[id] = fmt.Sprint(err, fault.HintOf(err)); err == nil {
			results[id] = event.JoinText(obs.Result().Content)
		}
		secrets = nil
	}
	hidden := secret.Hidden
	want := map[event.ID]string{
		"brings": "the token is " + hidden + ", " + hidden, "later": "the token is " + hidden + ", " + hidden,
		"fails": "no entry for " + hidden + "not even with " + hidden, "environment": hidden, "panics": results["panics"],
	}
	if diff := cmp.Diff(want, results); diff != "" || !strings.HasSuffix(results["panics"], ": "+hidden) {
		t.Errorf("results, %q (-want +got):\n%s", results["panics"], diff)
	}
	kept, err := os.ReadFile(path)
	for _, value := range []string{"hush", "told-before", base64.StdEncoding.EncodeToString([]byte("hush-hush"))} {
		if err != nil || !bytes.Contains(kept, []byte("the token is")) || bytes.Contains(kept, []byte(value)) {
			t.Errorf("%s is in the journal: %q, %v", value, kept, err)
		}
	}
	must.Report(t, x.Close(t.Context()))
}
