package session_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
)

const benchRequest = `{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/mock","base_url":"http://127.0.0.1:1/v1",
"api_key":"x","reasoning_effort":"none","usage_id":"agent"},"tools":[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},
{"name":"task_tracker","params":{}}]},"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`

var benchRing = keyring.New("bench")

// openBench opens a manager whose conversations are made and not run.
func openBench(b *testing.B) *session.Manager {
	b.Helper()
	dir := b.TempDir()
	store, err := sqlite.Open(b.Context(), dir, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	locks, err := conversationlock.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	m, err := session.Open(session.Options{
		Store: store, Lock: locks, Dir: dir, Ring: benchRing, Models: modelsFunc(nil), Builder: &fixture{}, View: view.OpenHands{},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return m
}

func create(b *testing.B, m *session.Manager) *session.Conversation {
	b.Helper()
	c, _, err := m.Create(b.Context(), specOf(b, benchRing, fmt.Sprintf(benchRequest, b.TempDir())))
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkCreate(b *testing.B) {
	m := openBench(b)
	raw := fmt.Sprintf(benchRequest, b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.Create(b.Context(), specOf(b, benchRing, raw)); err != nil {
			b.Fatal(err)
		}
	}
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	b.ReportMetric(float64(s.HeapAlloc)/float64(b.N)/1024, "KB-kept/op")
}

func BenchmarkList(b *testing.B) {
	m := openBench(b)
	for range 200 {
		create(b, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.List(b.Context(), eventstream.ListQuery{Limit: 100}); err != nil {
			b.Fatal(err)
		}
	}
}
