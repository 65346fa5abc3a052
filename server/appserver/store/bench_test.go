package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/server/appserver/store"
)

// BenchmarkRequest makes the lookups of each request to the agent server of a sandbox: the
// owner of its key, and whether the conversation is in that sandbox.
func BenchmarkRequest(b *testing.B) {
	open := func(b *testing.B, e store.Engine, driver, source string) *store.Store {
		db, err := sql.Open(driver, source)
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(4)
		s, err := store.Open(b.Context(), db, e, keyring.New(ringKey))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() }) // it was only used
		return s
	}
	run := func(b *testing.B, s *store.Store) {
		err := s.AddSandbox(b.Context(), store.Sandbox{ID: "s", Owner: "alice", SessionKey: "key", Created: when(0), Used: when(0)}, 0)
		if err == nil {
			err = s.SaveConversation(b.Context(), store.Conversation{ID: id(1), Owner: "alice", Sandbox: "s", AgentType: "default", Created: when(0)})
		}
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			in, err := s.SandboxOfKey(b.Context(), "key")
			found := false
			if err == nil {
				found, err = s.IsMember(b.Context(), in.Owner, in.ID, id(1))
			}
			if err != nil || !found {
				b.Fatal(found, err)
			}
		}
	}
	b.Run("SQLite", func(b *testing.B) {
		source, err := store.SQLiteSource(filepath.Join(b.TempDir(), "app.db"))
		if err != nil {
			b.Fatal(err)
		}
		run(b, open(b, store.SQLite, "sqlite", source))
	})
	b.Run("PostgreSQL", func(b *testing.B) { run(b, open(b, store.PostgreSQL, "pgx", postgrestest.URL(b))) })
}
