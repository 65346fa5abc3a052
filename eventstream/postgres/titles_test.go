package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/eventstreamtest"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/postgrestest"
)

const titleIndexes = "pg_indexes WHERE indexname = 'conversations_title' AND schemaname = current_schema()"

// TestTitleIndex: a store has the index of titles, also one that was made before there was
// one.
func TestTitleIndex(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	for _, when := range []string{"new", "of an older program"} {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := rows(t, url, titleIndexes); n != 1 {
			t.Errorf("%s: there are %d indexes of titles", when, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, url, "DROP INDEX conversations_title")
	}
}

// TestWithoutExtension: where the extension of the index is missing and may not be made,
// the store does all the same.
func TestWithoutExtension(t *testing.T) {
	t.Parallel()
	admin := postgrestest.URL(t)
	name := "test_" + strings.ToLower(rand.Text())
	execute(t, admin, "CREATE DATABASE "+name)
	execute(t, admin, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { // the role owns what is in the database
		drop(t, admin, "DATABASE "+name+" WITH (FORCE)")
		drop(t, admin, "ROLE "+name)
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	open := func(t *testing.T, log *slog.Logger) eventstream.Stream {
		schema := "s" + strings.ToLower(rand.Text())
		execute(t, u.String(), "CREATE SCHEMA "+schema+" AUTHORIZATION "+name)
		theirs, q := *u, u.Query()
		q.Set("search_path", schema)
		theirs.User, theirs.RawQuery = url.User(name), q.Encode()
		s, err := postgres.Open(t.Context(), theirs.String(), postgres.Options{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		if n := rows(t, theirs.String(), titleIndexes); n != 0 {
			t.Errorf("there are %d indexes of titles", n)
		}
		return s
	}
	t.Run("says so", func(t *testing.T) {
		var log bytes.Buffer
		s := open(t, slog.New(slog.NewTextHandler(&log, nil)))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "CREATE EXTENSION pg_trgm") {
			t.Errorf("the log does not say what to do: %s", &log)
		}
	})
	eventstreamtest.RunLists(t, func(t *testing.T) eventstream.Stream { return open(t, nil) })
}

// drop removes something at the end of a test.
func drop(t *testing.T, admin, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, admin)
	if err == nil {
		_, err = c.Exec(ctx, "DROP "+what)
		err = errors.Join(err, c.Close(ctx))
	}
	if err != nil {
		t.Errorf("drop %s: %v", what, err)
	}
}
