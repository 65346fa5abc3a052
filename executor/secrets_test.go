package executor_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
)

// TestSecretsAreNotKept: the tool gets them and the journal does not.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := executor.OpenJournal(f)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	x := executor.New(map[string]tool.Executor{runtimetest.Kind: runtimetest.Func(
		func(_ context.Context, c tool.Call) (event.Observation, error) {
			got = c.Secrets["TOKEN"]
			return runtimetest.Observation("done"), nil
		})}, j)
	_, err = x.Execute(t.Context(), tool.Request{
		Call: tool.Call{ID: "a", Action: runtimetest.Action(""), Secrets: tool.Secrets{"TOKEN": "hush-hush"}},
	})
	if err != nil || got != "hush-hush" {
		t.Fatalf("got %q, %v", got, err)
	}
	kept, err := os.ReadFile(path)
	if err != nil || len(kept) == 0 || bytes.Contains(kept, []byte("hush")) {
		t.Errorf("the journal: %q, %v", kept, err)
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
