package executor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toolFunc is a tool made of a function.
type toolFunc func(ctx context.Context, c tool.Call) (event.Observation, error)

func (f toolFunc) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	return f(ctx, c)
}
func (toolFunc) Close() error { return nil }

func think(text string) event.Action { return &event.ThinkAction{Thought: text} }

func thought(text string) event.Observation {
	return &event.ThinkObservation{ObservationBase: event.ObservationBase{Content: event.Texts(text)}}
}

func textOf(t *testing.T, obs event.Observation) string {
	t.Helper()
	if obs == nil {
		t.Fatal("no observation")
	}
	return event.JoinText(obs.Result().Content)
}

// reopen opens the journal file as a new server process does.
func reopen(t *testing.T, path, boot string) *executor.Journal {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must.Succeed(t, err)
	j, err := executor.OpenJournalOfBoot(f, boot)
	must.Succeed(t, err)
	return j
}

func journalPath(t *testing.T) string { return filepath.Join(t.TempDir(), "journal") }

func open(t *testing.T, path, boot string, f toolFunc) *executor.Executor {
	t.Helper()
	x := executor.New(map[string]tool.Executor{"ThinkAction": f}, reopen(t, path, boot))
	t.Cleanup(func() {
		if err := x.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return x
}

func shut(t *testing.T, x *executor.Executor) {
	t.Helper()
	must.Succeed(t, x.Close(t.Context()))
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must.Succeed(t, err)
	return string(b)
}
