package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const about event.ConversationID = "00000000-0000-4000-8000-0000000000aa"

// locks are the servers' locks.
type locks struct {
	mu   sync.Mutex
	held map[event.ConversationID]bool
}

func (l *locks) Acquire(_ context.Context, id event.ConversationID) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[id] {
		return nil, fault.New(fault.Conflict, "it is locked")
	}
	l.held[id] = true
	return func() { l.drop(id) }, nil
}

func (l *locks) drop(id event.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, id)
}

// cluster is a database with its servers.
type cluster struct {
	*memory
	*locks
}

func newCluster() cluster {
	return cluster{newMemory(), &locks{held: map[event.ConversationID]bool{}}}
}

// server returns a server that does the jobs of the kind "k", until the test ends.
func (c cluster) server(t *testing.T, k job.Kind, do func(ctx context.Context, r *job.Run) error) *job.Engine {
	t.Helper()
	e := job.New(job.Options{Store: c.memory, Lock: c.locks, Log: slog.New(slog.DiscardHandler)})
	k.Name, k.Handler = "k", job.HandlerFunc(do)
	e.Register(k)
	t.Cleanup(e.Close)
	return e
}

func add(t *testing.T, e *job.Engine, r job.Request) job.Job {
	t.Helper()
	r.Kind, r.Subject = "k", about
	j, err := e.Add(t.Context(), r, nil)
	must.Succeed(t, err)
	return j
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stored returns a job as it is stored.
func (c cluster) stored(t *testing.T, id string) job.Job {
	t.Helper()
	j, err := c.Job(t.Context(), id)
	must.Succeed(t, err)
	return j
}

func (c cluster) is(t *testing.T, id string, want job.State) {
	t.Helper()
	if got := c.stored(t, id); got.State != want {
		t.Errorf("the job is %s (%s), want %s", got.State, got.Error, want)
	}
}

// TestRun: a job is done in the background, and its followers see each state.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		gate := make(chan struct{})
		e := c.server(t, job.Kind{}, func(ctx context.Context, r *job.Run) error {
			for i := range 3 {
				<-gate
				must.Succeed(t, r.SetProgress(i))
				must.Succeed(t, r.Save(ctx, nil))
			}
			return nil
		})
		through := false
		j := add(t, e, job.Request{Owner: "alice", Args: map[string]int{"n": 1}, Then: func() { through = true }})
		read := func(ctx context.Context) (job.Job, error) { return c.Job(ctx, j.ID) }
		var seen []string
		must.Succeed(t, e.Follow(t.Context(), j.ID, read, func(j job.Job) error {
			seen = append(seen, fmt.Sprintf("%s %s", j.State, j.Progress))
			if len(seen) <= 3 {
				gate <- struct{}{}
			}
			return nil
		}))
		same(t, []string{"ready {}", "ready 0", "ready 1", "ready 2", "done 2"}, seen)
		synctest.Wait()
		if !through {
			t.Error("the server is not through with it")
		}
		seen = nil
		must.Succeed(t, e.Follow(t.Context(), j.ID, read, func(j job.Job) error { seen = append(seen, string(j.State)); return nil }))
		same(t, []string{"done"}, seen)
		same(t, json.RawMessage(`{"n":1}`), c.stored(t, j.ID).Args)
	})
}

// TestAttempts: a job is tried again after growing pauses, as often as its kind says, and
// not at all after another error.
func TestAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		began := time.Now()
		var at []time.Duration
		e := c.server(t, job.Kind{Attempts: 5, Pause: time.Second, MaxPause: 3 * time.Second}, func(_ context.Context, r *job.Run) error {
			at = append(at, time.Since(began))
			if r.Attempt != len(at)-1 || r.Last() != (len(at) == 5) {
				t.Errorf("attempt %d, the last: %v", r.Attempt, r.Last())
			}
			if r.ID == "wrong" {
				return errors.New("wrong")
			}
			return job.Again(errors.New("away"))
		})
		j := add(t, e, job.Request{})
		pass(time.Hour)
		same(t, []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}, at)
		c.is(t, j.ID, job.Failed)
		same(t, "away", c.stored(t, j.ID).Error)

		at, began = nil, time.Now()
		add(t, e, job.Request{ID: "wrong", Due: time.Now().Add(time.Minute)})
		pass(time.Hour)
		same(t, []time.Duration{time.Minute}, at)
		c.is(t, "wrong", job.Failed)
	})
}

// TestKey: a key has one job at a time.
func TestKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		gate := make(chan struct{})
		e := c.server(t, job.Kind{}, func(context.Context, *job.Run) error { <-gate; return nil })
		add(t, e, job.Request{Key: "one"})
		if _, err := e.Add(t.Context(), job.Request{Kind: "k", Key: "one"}, nil); !errors.Is(err, job.ErrExists) {
			t.Errorf("a second job: %v", err)
		}
		close(gate)
		synctest.Wait()
		add(t, e, job.Request{Key: "one"})
	})
}

// TestAtOnce: no more jobs of a kind are at work than it says.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		gate, now, most := make(chan struct{}), 0, 0
		var mu sync.Mutex
		e := c.server(t, job.Kind{AtOnce: 2}, func(context.Context, *job.Run) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-gate
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		var all []job.Job
		for range 6 {
			all = append(all, add(t, e, job.Request{}))
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if most != 2 {
			t.Errorf("%d at once", most)
		}
		for _, j := range all {
			c.is(t, j.ID, job.Done)
		}
	})
}

// TestWake: each wake-up leads to a run that begins after it, whoever wakes.
func TestWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		ran := make(chan string)
		server := func(name string) *job.Engine {
			return c.server(t, job.Kind{}, func(ctx context.Context, r *job.Run) error {
				select {
				case ran <- name:
				case <-ctx.Done():
				}
				return job.ErrPark
			})
		}
		one, other := server("one"), server("other")
		one.Wake("k", about) // there is none
		synctest.Wait()
		must.Succeed(t, one.AddParked(t.Context(), job.Request{ID: "p", Kind: "k", Subject: about}, job.Request{ID: "far", Kind: "k", Subject: "another"}))
		select {
		case name := <-ran:
			t.Fatalf("%s runs what is parked", name)
		case <-time.After(time.Hour):
		}
		one.Wake("k", about)
		synctest.Wait() // it is at work
		one.Wake("k", about)
		one.Wake("k", about)
		synctest.Wait()
		same(t, []string{"one", "one"}, []string{<-ran, <-ran})
		synctest.Wait()
		c.is(t, "p", job.Parked)
		other.Wake("k", about)
		synctest.Wait()
		one.Wake("k", about) // while the other one does it
		synctest.Wait()
		same(t, []string{"other", "other"}, []string{<-ran, <-ran})
		synctest.Wait()
		c.is(t, "p", job.Parked)
		c.is(t, "far", job.Parked)
		select {
		case name := <-ran:
			t.Errorf("%s runs once more", name)
		case <-time.After(time.Hour):
		}
	})
}

// TestWakeWhileParking wakes a job that parks after the store has answered that it is at work.
func TestWakeWhileParking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		runs, end := 0, make(chan struct{})
		e := c.server(t, job.Kind{}, func(context.Context, *job.Run) error {
			runs++
			<-end
			return job.ErrPark
		})
		must.Succeed(t, e.AddParked(t.Context(), job.Request{ID: "p", Kind: "k", Subject: about}))
		e.Wake("k", about)
		synctest.Wait() // it is at work
		c.memory.mu.Lock()
		c.answered = func() {
			close(end)
			time.Sleep(time.Second) // it parks
		}
		c.memory.mu.Unlock()
		e.Wake("k", about)
		pass(time.Minute)
		same(t, 2, runs)
		c.is(t, "p", job.Parked)
	})
}

// TestCancel ends jobs at work, in a pause, and parked, here and by another server.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		do := func(ctx context.Context, r *job.Run) error {
			switch r.ID {
			case "works":
				<-ctx.Done()
				return context.Cause(ctx)
			case "saves":
				for ctx.Err() == nil {
					time.Sleep(time.Minute)
					if err := r.Save(ctx, nil); err != nil {
						return err
					}
				}
				return nil
			}
			return job.Again(errors.New("away"))
		}
		e, other := c.server(t, job.Kind{Attempts: -1}, do), c.server(t, job.Kind{}, do)
		for _, id := range []string{"works", "pauses", "saves"} {
			add(t, e, job.Request{ID: id})
		}
		must.Succeed(t, e.AddParked(t.Context(), job.Request{ID: "parked", Kind: "k"}))
		pass(3 * time.Hour)
		for id, by := range map[string]*job.Engine{"works": e, "pauses": e, "parked": other, "saves": other} {
			must.Succeed(t, by.Cancel(t.Context(), id))
		}
		pass(2 * time.Minute)
		for _, id := range []string{"works", "pauses", "parked", "saves"} {
			c.is(t, id, job.Cancelled)
			if err := e.Cancel(t.Context(), id); !fault.Is(err, fault.NotFound) {
				t.Errorf("a second time: %v", err)
			}
		}
	})
}

// TestTakeOver: another server continues the jobs of one that is killed, which has no effect
// on them any more.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		stopped := make(chan error, 1)
		killed := c.server(t, job.Kind{}, func(ctx context.Context, r *job.Run) error {
			<-ctx.Done() // as long as the process
			stopped <- r.Save(context.WithoutCancel(ctx), nil)
			return nil
		})
		other := c.server(t, job.Kind{}, func(context.Context, *job.Run) error { return nil })
		j := add(t, killed, job.Request{})
		must.Succeed(t, other.Start(t.Context())) // it lives
		synctest.Wait()
		c.is(t, j.ID, job.Ready)

		c.drop(j.Server)
		if other.Orphaned(event.NewConversationID()) {
			t.Error("took something else for a server")
		}
		if !other.Orphaned(j.Server) {
			t.Error("the server is not known")
		}
		synctest.Wait()
		c.is(t, j.ID, job.Done)
		killed.Close()
		if err := <-stopped; !errors.Is(err, job.ErrLost) {
			t.Errorf("the killed server stores: %v", err)
		}
		c.is(t, j.ID, job.Done)
	})
}

// TestRecover takes a job over whose server has ended before somebody notices.
func TestRecover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		one := c.server(t, job.Kind{}, func(ctx context.Context, _ *job.Run) error { <-ctx.Done(); return nil })
		other := c.server(t, job.Kind{}, func(context.Context, *job.Run) error { return nil })
		j := add(t, one, job.Request{})
		for _, want := range []job.State{job.Ready, job.Done} { // it lives, and then it does not
			found, err := other.Recover(t.Context(), "k", about)
			if must.Succeed(t, err); !found {
				t.Error("there is no such job")
			}
			synctest.Wait()
			c.is(t, j.ID, want)
			c.drop(j.Server)
		}
		if found, err := other.Recover(t.Context(), "k", about); found || err != nil {
			t.Errorf("after its end: %v, %v", found, err)
		}
	})
}

// TestEndsWithServer: a job that must not be repeated fails when its server ends.
func TestEndsWithServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		one := c.server(t, job.Kind{}, func(ctx context.Context, _ *job.Run) error { <-ctx.Done(); return nil })
		other := c.server(t, job.Kind{EndsWithServer: true}, func(context.Context, *job.Run) error {
			t.Error("it is repeated")
			return nil
		})
		j := add(t, one, job.Request{})
		c.drop(j.Server)
		other.Orphaned(j.Server)
		synctest.Wait()
		c.is(t, j.ID, job.Failed)
	})
}

// TestRestart: jobs continue at the next start after a server closes or is killed, with
// their attempts and their pauses.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c cluster, e *job.Engine, j job.Job){
		"closed": func(_ cluster, e *job.Engine, _ job.Job) { e.Close() },
		"killed": func(c cluster, _ *job.Engine, j job.Job) { c.drop(j.Server) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				k := job.Kind{Attempts: -1, Pause: time.Hour}
				one := c.server(t, k, func(context.Context, *job.Run) error { return job.Again(errors.New("away")) })
				j := add(t, one, job.Request{})
				began := time.Now()
				pass(time.Minute)
				end(c, one, j)
				if name == "closed" {
					if _, err := one.Add(t.Context(), job.Request{Kind: "k"}, nil); !fault.Is(err, fault.Unavailable) {
						t.Errorf("a closed engine: %v", err)
					}
				}
				other := c.server(t, k, func(_ context.Context, r *job.Run) error {
					if r.Attempt != 1 || time.Since(began) != time.Hour {
						t.Errorf("attempt %d after %s", r.Attempt, time.Since(began))
					}
					return nil
				})
				must.Succeed(t, other.Start(t.Context()))
				pass(2 * time.Hour)
				c.is(t, j.ID, job.Done)
			})
		})
	}
}

// TestLost: a server that has lost its lock stops its jobs first. Those that no other server
// takes continue on it.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"nobody takes them": false, "another server takes them": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				var mu sync.Mutex
				atWork, runs := 0, 0
				do := func(ctx context.Context, _ *job.Run) error {
					mu.Lock()
					atWork++
					runs++
					if atWork > 1 {
						t.Error("two runs at once")
					}
					last := runs == 2
					mu.Unlock()
					if !last {
						<-ctx.Done()
					}
					mu.Lock()
					defer mu.Unlock()
					atWork--
					return nil
				}
				e, other := c.server(t, job.Kind{}, do), c.server(t, job.Kind{}, do)
				j := add(t, e, job.Request{})
				synctest.Wait()
				if e.Lost(event.NewConversationID()) {
					t.Error("lost something else")
				}
				if taken {
					_, err := c.MoveJobs(t.Context(), j.Server, "taken", []string{"k"})
					must.Succeed(t, err)
				}
				c.drop(j.Server)
				if !e.Lost(j.Server) {
					t.Error("the lock is not known")
				}
				synctest.Wait()
				if taken {
					c.is(t, j.ID, job.Ready)
					other.Orphaned("taken")
					synctest.Wait()
				}
				c.is(t, j.ID, job.Done)
				if runs != 2 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// TestStoreAway: the outcome of a run is stored when the store answers again.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		runs := 0
		e := c.server(t, job.Kind{}, func(context.Context, *job.Run) error {
			runs++
			c.memory.mu.Lock()
			defer c.memory.mu.Unlock()
			c.broken = fault.New(fault.Unavailable, "away")
			return nil
		})
		j := add(t, e, job.Request{})
		pass(time.Minute)
		if c.is(t, j.ID, job.Done); runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}
