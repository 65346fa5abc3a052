package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/identity"
)

// stored measures servers with many conversations, by each engine.
func (b *bench) stored(ctx context.Context) error {
	databases := []string{""}
	if b.postgres != "" {
		databases = append(databases, b.postgres)
	}
	for _, database := range databases {
		if err := b.storedIn(ctx, database); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) storedIn(ctx context.Context, database string) (err error) {
	engine, dir := "SQLite", filepath.Join(b.dir, "stored")
	if database != "" {
		engine, dir = "PostgreSQL", dir+"-postgres"
		var drop func() error
		if database, drop, err = schema(ctx, database); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, drop()) }()
	}
	made := 0
	for _, n := range []int{10_000, 100_000} {
		s, err := b.serve(ctx, dir, database) // makes the directories
		if err == nil {
			err = s.stop()
		}
		if err == nil {
			err = fill(ctx, filepath.Join(dir, "events"), database, made, n)
		}
		if err != nil {
			return err
		}
		made = n
		if err := b.lists(ctx, fmt.Sprintf("%s, %d conversations: ", engine, n), dir, database, n); err != nil {
			return err
		}
	}
	return nil
}

// lists measures a server's start and its lists.
func (b *bench) lists(ctx context.Context, what, dir, database string, n int) (err error) {
	s, err := b.serve(ctx, dir, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err := s.call(ctx, "GET", "/api/v1/app-conversations/search?limit=20", nil); err != nil {
		return err
	}
	first := time.Since(s.began)
	if n == 10_000 {
		b.row(what+"start to first page", "<= 60 ms", first)
		time.Sleep(2 * time.Second) // the memory of the start is given back
		m, err := s.memory()
		if err != nil {
			return err
		}
		b.note(what+"idle memory", "<= 45 MB", fmt.Sprintf("%.1f MB", float64(m)/(1<<20)))
		return nil
	}
	for _, q := range []struct {
		what, budget, path, has string
		quantile                float64
	}{
		{"first page of 20, p95", "<= 5 ms", "/search?limit=20", `"next_page_id":"`, 0.95},
		{"count, p95", "<= 2 ms", "/count", fmt.Sprint(n), 0.95},
		{"search by title, 12 found, p95", "<= 50 ms", "/search?limit=20&title__contains=needle", `needle`, 0.95},
		{"search by title, none found, p95", "<= 50 ms", "/search?limit=20&title__contains=nowhere", `"items":[]`, 0.95},
		{"count by title, p95", "<= 50 ms", "/count?title__contains=needle", "12", 0.95},
		{"count by title, two letters, p95", "<= 50 ms", "/count?title__contains=zq", "0", 0.95},
	} {
		var took []time.Duration
		for range 60 {
			began := time.Now()
			raw, err := s.call(ctx, "GET", "/api/v1/app-conversations"+q.path, nil)
			if err != nil {
				return err
			}
			took = append(took, time.Since(began))
			if !strings.Contains(string(raw), q.has) {
				return fmt.Errorf("%s: no %s in %.300s", q.path, q.has, raw)
			}
		}
		b.row(what+q.what, q.budget, quantile(took, q.quantile))
	}
	return nil
}

// fill stores conversations from, from+1 … to-1, as a server leaves them.
func fill(ctx context.Context, dir, database string, from, to int) (err error) {
	var s eventstream.Stream
	if database != "" {
		s, err = postgres.Open(ctx, database, postgres.Options{})
	} else {
		s, err = sqlite.Open(ctx, dir, sqlite.Options{})
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, s.Close()); err == nil && database != "" {
			err = settle(ctx, database)
		}
	}()
	summary, err := json.Marshal(map[string]any{
		"agent": map[string]any{"kind": "Agent", "llm": map[string]any{"model": "openai/m"}}, "execution_status": "finished",
		"metrics": map[string]any{"accumulated_cost": 0.25},
	})
	if err != nil {
		return err
	}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(64)
	began := time.Now().Add(-365 * 24 * time.Hour)
	for i := from; i < to; i++ {
		g.Go(func() error {
			title := fmt.Sprintf("Mend the flaky test number %d of the parser", i)
			if i%8000 == 0 && i > 8000 || i == 5 {
				title += " (needle)"
			}
			return s.Create(inner, event.NewConversationID(), eventstream.Meta{
				Owner: string(identity.LocalTenant), Created: began.Add(time.Duration(i) * time.Minute), Title: title, WorkingDir: "/srv/w", Summary: summary,
			})
		})
	}
	return g.Wait()
}

// settle does the work that the PostgreSQL server would do in the background in the next
// minute, on the measured cores, because so many conversations were made at once.
func settle(ctx context.Context, database string) error {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "VACUUM (ANALYZE) conversations, documents, conversation_counts")
	return errors.Join(err, c.Close(ctx))
}

// schema makes a schema of its own, and returns the URL that selects it.
func schema(ctx context.Context, database string) (selected string, drop func() error, err error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", nil, errors.New("the URL of the database cannot be read")
	}
	name := fmt.Sprintf("bench_%d", time.Now().UnixNano())
	run := func(statement string) error {
		c, err := pgx.Connect(ctx, database)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, statement)
		return errors.Join(err, c.Close(ctx))
	}
	if err := run("CREATE SCHEMA " + name); err != nil {
		return "", nil, err
	}
	q := u.Query()
	q.Set("search_path", name)
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String(), func() error { return run("DROP SCHEMA " + name + " CASCADE") }, nil
}
