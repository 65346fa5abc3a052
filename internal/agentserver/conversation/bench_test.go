package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

const benchRequest = `{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/mock","base_url":"http://127.0.0.1:1/v1",
"api_key":"x","reasoning_effort":"none","usage_id":"agent"},"tools":[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},
{"name":"task_tracker","params":{}}]},"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`

// openBench opens a manager whose conversations are made and not run.
func openBench(b *testing.B) *conversation.Manager {
	b.Helper()
	dir := b.TempDir()
	store, err := sqlite.Open(b.Context(), dir, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ring := keyring.New("bench")
	m, err := conversation.Open(conversation.Options{
		Stream: store, Dir: dir, Ring: ring,
		Resolve: func(_ context.Context, r *conversation.StartRequest) (*conversation.Launch, error) {
			a, err := spec.DecodeAgent(r.Agent, schema.Reading{Keys: ring}, "body", "agent")
			return &conversation.Launch{Agent: a}, err
		},
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

func create(b *testing.B, m *conversation.Manager) *conversation.Conversation {
	b.Helper()
	var r conversation.StartRequest
	if err := json.Unmarshal(fmt.Appendf(nil, benchRequest, b.TempDir()), &r); err != nil {
		b.Fatal(err)
	}
	c, _, err := m.Create(b.Context(), &r)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkCreate(b *testing.B) {
	m := openBench(b)
	raw := fmt.Appendf(nil, benchRequest, b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		var r conversation.StartRequest
		if err := json.Unmarshal(raw, &r); err != nil {
			b.Fatal(err)
		}
		if _, _, err := m.Create(b.Context(), &r); err != nil {
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
