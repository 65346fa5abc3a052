package pool_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/sandbox/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine makes members that are nothing but names.
type machine struct {
	mu     sync.Mutex
	next   int
	live   map[string]chan struct{}
	fails  int // how many starts fail
	sick   string
	making int
	most   int
	took   time.Duration
}

func (m *machine) Make(ctx context.Context, c pool.Class) (pool.Member, error) {
	m.mu.Lock()
	m.making++
	m.most = max(m.most, m.making)
	m.mu.Unlock()
	if m.took > 0 {
		select {
		case <-time.After(m.took):
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.making--
	if m.fails > 0 {
		m.fails--
		return pool.Member{}, errors.New("no space")
	}
	if m.live == nil {
		m.live = map[string]chan struct{}{}
	}
	m.next++
	id, ended := string(c)+strconv.Itoa(m.next), make(chan struct{})
	m.live[id] = ended
	return pool.Member{ID: id, Made: time.Now(), Ended: ended}, nil
}

func (m *machine) Check(_ context.Context, x pool.Member) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.ID == m.sick {
		return errors.New("it does not answer")
	}
	return nil
}

func (m *machine) Discard(_ context.Context, x pool.Member) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, x.ID)
	return nil
}

func (m *machine) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

func one(t *testing.T, p *pool.Pool) pool.Metrics {
	t.Helper()
	all := p.Metrics()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	return all[0]
}

// TestClaimOnce: of 300 claims at once each has a member of its own, or none.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		p := pool.New(pool.Options{Maker: m})
		defer p.Close()
		p.Configure(map[pool.Class]pool.Size{"a": {Ready: 200}})
		synctest.Wait()
		if got := one(t, p); got.Ready != 200 {
			t.Fatalf("%+v", got)
		}
		var owners sync.Map
		var hits, misses atomic.Int64
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				<-start
				got, ok := p.Claim("a")
				if !ok {
					misses.Add(1)
					return
				}
				hits.Add(1)
				if other, twice := owners.LoadOrStore(got.ID, i); twice {
					t.Errorf("%s belongs to %d and %d", got.ID, other, i)
				}
			})
		}
		close(start)
		all.Wait()
		if hits.Load()+misses.Load() != 300 || hits.Load() < 200 {
			t.Errorf("%d hits, %d misses", hits.Load(), misses.Load())
		}
		if got := one(t, p); got.Hits != uint64(hits.Load()) || got.Misses != uint64(misses.Load()) {
			t.Errorf("%+v", got)
		}
	})
}

func TestRefill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{took: 10 * time.Millisecond}
		p := pool.New(pool.Options{Maker: m, Parallel: 3})
		defer p.Close()
		p.Configure(map[pool.Class]pool.Size{"a": {Ready: 10}})
		time.Sleep(time.Second)
		m.mu.Lock()
		most := m.most
		m.mu.Unlock()
		if got := one(t, p); got.Ready != 10 || got.Made != 10 || most != 3 {
			t.Fatalf("%+v, %d at a time", got, most)
		}
		if _, ok := p.Claim("b"); ok {
			t.Error("a class that there is not has a member")
		}
		for range 4 {
			if _, ok := p.Claim("a"); !ok {
				t.Fatal("nothing to claim")
			}
		}
		synctest.Wait()
		if got := one(t, p); got.Ready != 6 || got.Making != 0 {
			t.Errorf("members are made while others claim: %+v", got)
		}
		time.Sleep(time.Second)
		if got := one(t, p); got.Ready != 10 {
			t.Errorf("%+v", got)
		}
	})
}

// TestSteadyClaims: a pool that is claimed from all the time is refilled all the same.
func TestSteadyClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{took: time.Millisecond}
		p := pool.New(pool.Options{Maker: m})
		defer p.Close()
		p.Configure(map[pool.Class]pool.Size{"a": {Ready: 5}})
		time.Sleep(time.Second)
		hits := 0
		for range 500 {
			if _, ok := p.Claim("a"); ok {
				hits++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if hits < 100 {
			t.Errorf("%d hits of 500", hits)
		}
		time.Sleep(time.Second)
		release := p.Hold()
		for ok := true; ok; {
			_, ok = p.Claim("a")
		}
		time.Sleep(500 * time.Millisecond)
		if got := one(t, p); got.Ready != 0 || got.Making != 0 {
			t.Errorf("members are made while starts hold the pool: %+v", got)
		}
		time.Sleep(time.Second)
		if got := one(t, p); got.Ready != 5 {
			t.Errorf("the pool is held for ever: %+v", got)
		}
		release()
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{fails: 3}
		p := pool.New(pool.Options{Maker: m, Parallel: 1})
		defer p.Close()
		p.Configure(map[pool.Class]pool.Size{"a": {Ready: 1}})
		time.Sleep(6 * time.Second) // delays of 1, 2 and 4 seconds
		if got := one(t, p); got.Failed != 3 || got.Ready != 0 {
			t.Errorf("%+v", got)
		}
		time.Sleep(2 * time.Second)
		if got := one(t, p); got.Ready != 1 {
			t.Errorf("%+v", got)
		}
		m.mu.Lock()
		for _, ended := range m.live {
			close(ended)
		}
		m.mu.Unlock()
		if got, ok := p.Claim("a"); ok {
			t.Errorf("claimed %s, which has ended", got.ID)
		}
		time.Sleep(time.Second)
		got, ok := p.Claim("a")
		if !ok {
			t.Fatalf("%+v", one(t, p))
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		m.sick = string(got.ID[0]) + strconv.Itoa(m.next)
		m.mu.Unlock()
		time.Sleep(time.Minute)
		if got := one(t, p); got.Failed != 5 || got.Ready != 1 {
			t.Errorf("one that does not answer: %+v", got)
		}
	})
}

func TestExpiryAndDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		p := pool.New(pool.Options{Maker: m})
		p.Configure(map[pool.Class]pool.Size{"a": {Ready: 3, MaxAge: time.Minute}})
		time.Sleep(10*time.Minute + time.Second)
		if got := one(t, p); got.Ready != 3 || got.Expired < 20 || got.Oldest > time.Minute+pool.DefaultInterval || m.count() != 3 {
			t.Errorf("%+v, %d live", got, m.count())
		}
		p.Configure(map[pool.Class]pool.Size{"b": {Ready: 2}})
		synctest.Wait()
		if m.count() != 2 {
			t.Errorf("%d live after the class has changed", m.count())
		}
		if _, ok := p.Claim("a"); ok {
			t.Error("claimed of a class that is gone")
		}
		p.Close()
		if m.count() != 0 {
			t.Errorf("%d are left", m.count())
		}
	})
}

// lines passes its input on.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestAnnounced: a member that the log announces can be claimed.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	said := make(lines, 1000)
	p := pool.New(pool.Options{Maker: &machine{}, Log: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	defer p.Close()
	p.Configure(map[pool.Class]pool.Size{"a": {Ready: 1}})
	for range 20 {
		<-said
		if m, ok := p.Claim("a"); !ok {
			t.Fatalf("%+v cannot be claimed: %+v", m, one(t, p))
		}
	}
}
