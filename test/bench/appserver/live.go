package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// start measures from the request for a conversation to its agent's first action.
func (b *bench) start(ctx context.Context) error {
	for _, one := range []struct {
		what, budget string
		args         []string
		skip         bool
	}{
		{"start to first action, process sandbox, cold", "<= 60 ms", nil, false},
		{"start to first action, process sandbox, warm", "", []string{"--warm", "2"}, false},
		{"start to first action, Docker, cold", "", []string{"--sandbox", "docker", "--pull", "never", "--image", b.image}, b.docker == ""},
		{"start to first action, Docker, warm", "<= 100 ms", []string{"--warm", "2", "--sandbox", "docker", "--pull", "never", "--image", b.image}, b.docker == ""},
	} {
		if one.skip {
			b.note(one.what, one.budget, "not measured: no Docker engine was named")
			continue
		}
		if err := b.startIn(ctx, one.what, one.budget, one.args); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) startIn(ctx context.Context, what, budget string, args []string) (err error) {
	s, err := b.serve(ctx, filepath.Join(b.dir, "start"), "", args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	var act, done []time.Duration
	for i := range 12 {
		waiting, err := waiting(ctx, s.cmd.Dir, slices.Contains(args, "--warm"))
		if err != nil {
			return err
		}
		began := time.Now()
		task, err := get[struct {
			ID           string `json:"id"`
			Conversation string `json:"app_conversation_id"`
			Status       string `json:"status"`
		}](ctx, s, "POST", "/api/v1/app-conversations", map[string]any{"title": "Bench", "initial_message": message("go", true)})
		if err != nil {
			return err
		}
		for id, acted := "", time.Duration(0); ; time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				return fmt.Errorf("the start %s takes too long", task.ID)
			}
			if id == "" {
				found, err := get[[]struct {
					Status, Detail string
					Conversation   string `json:"app_conversation_id"`
				}](ctx, s, "GET", "/api/v1/app-conversations/start-tasks?ids="+task.ID, nil)
				if err != nil || len(found) != 1 || found[0].Status == "ERROR" {
					return fmt.Errorf("the start: %+v: %w", found, err)
				}
				if id = found[0].Conversation; id == "" {
					continue
				}
			}
			raw, err := s.call(ctx, "GET", "/api/v1/conversation/"+id+"/events/search?limit=20", nil)
			if err != nil {
				return err
			}
			if bytes.Contains(raw, []byte(`"ConversationErrorEvent"`)) {
				return fmt.Errorf("the run failed: %.1000s", raw)
			}
			if waiting != nil && !slices.Contains(waiting, strings.ReplaceAll(id, "-", "")) {
				return errors.New("the conversation has got no sandbox that waits")
			}
			if acted == 0 && bytes.Contains(raw, []byte(`"ActionEvent"`)) {
				acted = time.Since(began)
			}
			if bytes.Contains(raw, []byte(`"ObservationEvent"`)) {
				if i > 1 { // the first ones open the provider
					act, done = append(act, acted), append(done, time.Since(began))
				}
				break
			}
		}
	}
	b.row(what+", median", budget, quantile(act, 0.5))
	b.row(what+", its result, median", "", quantile(done, 0.5))
	return nil
}

// waiting returns the ids of sandboxes that wait for conversations, once the pool is full; nil
// if there is none.
func waiting(ctx context.Context, dir string, pool bool) ([]string, error) {
	if !pool {
		return nil, nil
	}
	for range 60 { // they are said to wait while they still start
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		found, err := os.ReadDir(filepath.Join(dir, "events", "app", "warm"))
		if err != nil {
			return nil, err
		}
		if len(found) == 2 {
			return []string{found[0].Name(), found[1].Name()}, nil
		}
	}
	return nil, errors.New("the pool is not filled")
}

// forward compares how long an event takes to a follower through the App Server with how
// long it takes through an agent server alone.
func (b *bench) forward(ctx context.Context) (err error) {
	app, err := b.serve(ctx, filepath.Join(b.dir, "forward"), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.end(context.WithoutCancel(ctx))) }()
	through, err := app.agent(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "alone")
	alone, err := b.command(ctx, dir, "http://", []string{"OH_PERSISTENCE_DIR=" + filepath.Join(dir, "oh"), "OH_CONVERSATIONS_PATH=conversations"}, "agent-server", "--host", "127.0.0.1", "--port", "0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.stop()) }()
	workspaces := map[*server]string{through: "workspace/project", alone: filepath.Join(dir, "w")}
	took := map[*server][]time.Duration{}
	for range 4 { // in turn, because the machine is not quiet all the time
		for _, s := range []*server{through, alone} {
			some, err := b.latencies(ctx, s, workspaces[s])
			if err != nil {
				return err
			}
			took[s] = append(took[s], some...)
		}
	}
	for _, q := range []float64{0.5, 0.99} {
		a, c := quantile(took[through], q), quantile(took[alone], q)
		b.note(fmt.Sprintf("an event to its follower, p%.0f: App Server, agent server alone", 100*q), "", fmt.Sprintf("%.2f ms, %.2f ms", float64(a.Microseconds())/1000, float64(c.Microseconds())/1000))
		if q > 0.9 {
			b.row("event forwarding adds, p99", "<= 1 ms", a-c)
		}
	}
	return nil
}

// latencies measures from a message to its event at a follower.
func (b *bench) latencies(ctx context.Context, s *server, workspace string) (took []time.Duration, err error) {
	id, err := s.conversation(ctx, b, workspace)
	if err != nil {
		return nil, err
	}
	ws, err := s.follow(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.CloseNow() }() // all was read
	for i := range 320 {
		began := time.Now()
		if _, err := s.call(ctx, "POST", "/api/conversations/"+id+"/events", message("hello", false)); err != nil {
			return nil, err
		}
		for {
			_, raw, err := ws.Read(ctx)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(raw, []byte(`"MessageEvent"`)) && !bytes.Contains(raw, []byte(`"full_state"`)) {
				break
			}
		}
		if i >= 20 {
			took = append(took, time.Since(began))
		}
	}
	return took, nil
}

// Conversations with a follower each, and each one's frames.
const (
	conversations = 500
	messages      = 20
)

// many holds 500 conversations with a follower each, which must see every event once.
func (b *bench) many(ctx context.Context) (err error) {
	app, err := b.serve(ctx, filepath.Join(b.dir, "many"), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.end(context.WithoutCancel(ctx))) }()
	s, err := app.agent(ctx)
	if err != nil {
		return err
	}
	ids, err := b.conversations(ctx, []*server{s}, conversations)
	if err != nil {
		return err
	}
	took, err := b.exchange(ctx, []*server{s}, ids, messages, true)
	if err != nil {
		return err
	}
	m, err := app.memory()
	if err != nil {
		return err
	}
	b.note(fmt.Sprintf("%d conversations, a follower each: events without loss", conversations), "all", fmt.Sprintf("%d of %[1]d, %.0f/s", conversations*messages, conversations*messages/took.Seconds()))
	b.note("  memory meanwhile", "", fmt.Sprintf("%.1f MB", float64(m)/(1<<20)))
	return nil
}

// twoServers measures how many events two App Servers store in one PostgreSQL database, and
// their processor time.
func (b *bench) twoServers(ctx context.Context) (err error) {
	if b.postgres == "" {
		b.note("two App Servers on PostgreSQL: durable events", ">= 2,000/s", "not measured: no database was named")
		return nil
	}
	database, drop, err := schema(ctx, b.postgres)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	var all []*server
	dir := filepath.Join(b.dir, "two")
	for range 2 {
		app, err := b.serve(ctx, dir, database)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, app.end(context.WithoutCancel(ctx))) }()
		s, err := app.agent(ctx)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	const each, sent = 100, 100
	ids, err := b.conversations(ctx, all, each)
	if err != nil {
		return err
	}
	before, err := measureUse(ctx, all, database)
	if err != nil {
		return err
	}
	took, err := b.exchange(ctx, all, ids, sent, false)
	if err != nil {
		return err
	}
	after, err := measureUse(ctx, all, database)
	if err != nil {
		return err
	}
	d := after.since(before)
	b.note("two App Servers on PostgreSQL: durable events", ">= 2,000/s", fmt.Sprintf("%.0f/s, of %.0f messages/s", d.events/took.Seconds(), each*sent/took.Seconds()))
	perThousand := func(t time.Duration) float64 { return float64(t.Microseconds()) / d.events }
	b.note("  processor time for 1,000: each App Server, backends of PostgreSQL, clients", "", fmt.Sprintf("%.0f + %.0f, %.0f, %.0f ms",
		perThousand(d.servers[0]), perThousand(d.servers[1]), perThousand(d.database), perThousand(d.clients)))
	return nil
}

// conversations makes n conversations on servers, in turn.
func (b *bench) conversations(ctx context.Context, servers []*server, n int) ([]string, error) {
	ids := make([]string, n)
	making, inner := errgroup.WithContext(ctx)
	making.SetLimit(16)
	for i := range ids {
		making.Go(func() (err error) {
			ids[i], err = servers[i%len(servers)].conversation(inner, b, "workspace/project")
			return err
		})
	}
	return ids, making.Wait()
}

// exchange sends each of some conversations so many messages, and returns how long these
// took. With followers, each must see all of its messages.
func (b *bench) exchange(ctx context.Context, servers []*server, ids []string, each int, followed bool) (time.Duration, error) {
	var followers errgroup.Group
	if followed {
		for i, id := range ids {
			ws, err := servers[i%len(servers)].follow(ctx, id)
			if err != nil {
				return 0, err
			}
			followers.Go(func() error {
				defer func() { _ = ws.CloseNow() }() // all was read
				for seen := 0; seen < each; {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					_, raw, err := ws.Read(ctx)
					cancel()
					if err != nil {
						return fmt.Errorf("after %d of %d events: %w", seen, each, err)
					}
					if bytes.Contains(raw, []byte(`"MessageEvent"`)) && !bytes.Contains(raw, []byte(`"full_state"`)) {
						seen++
					}
				}
				return nil
			})
		}
	}
	began := time.Now()
	sending, inner := errgroup.WithContext(ctx)
	for i, id := range ids {
		sending.Go(func() error {
			return servers[i%len(servers)].post(inner, "/api/conversations/"+id+"/events", message("hello", false), each)
		})
	}
	err := errors.Join(sending.Wait(), followers.Wait())
	return time.Since(began), err
}
