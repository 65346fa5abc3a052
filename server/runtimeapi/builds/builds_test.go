package builds

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// builder waits for a test's orders.
type builder struct {
	begun chan image.Context
	end   chan error
}

func newBuilder() *builder { return &builder{make(chan image.Context, 100), make(chan error)} }

func (b *builder) BuildContext(ctx context.Context, c image.Context, progress func(string)) error {
	if n, err := io.Copy(io.Discard, c.Files); err != nil || n == 0 {
		return errors.New("the context cannot be read")
	}
	progress("line 1")
	b.begun <- c
	select {
	case err := <-b.end:
		progress("line 2")
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type memory struct {
	mu  sync.Mutex
	all map[string]Build
}

func (m *memory) LoadBuilds(context.Context) ([]Build, error) {
	return slices.Collect(maps.Values(m.all)), nil
}

func (m *memory) SaveBuild(_ context.Context, b Build) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[b.ID] = b
	return nil
}

func (m *memory) DeleteBuild(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, id)
	return nil
}

func queue(t *testing.T, o Options) *Queue {
	t.Helper()
	if o.Store == nil {
		o.Store = &memory{all: map[string]Build{}}
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	q, err := Open(t.Context(), o)
	must.Succeed(t, err)
	t.Cleanup(func() {
		q.Close()
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
		if len(q.places) > 0 {
			t.Errorf("places are left: %v", q.places)
		}
	})
	return q
}

// begin uploads a context with one file and starts its build.
func begin(t *testing.T, q *Queue, owner, content string, tags ...string) (Build, error) {
	t.Helper()
	u, err := q.Upload(owner)
	if err != nil {
		return Build{}, err
	}
	defer func() { must.Report(t, u.Close()) }()
	if err := u.ReadContext(bytes.NewReader(archiveOf(t, dockerfile, file("f", content)))); err != nil {
		return Build{}, err
	}
	return u.Start(t.Context(), tags)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := newBuilder()
		q := queue(t, Options{Builder: engine, MemoryBytes: 5})
		b, err := begin(t, q, "a", "1", "x:1", "x:2")
		if err != nil || b.Status.Finished() {
			t.Fatal(b, err)
		}
		if c := <-engine.begun; !slices.Equal(c.Tags, []string{"x:1", "x:2"}) || c.Network || c.MemoryBytes != 5 {
			t.Errorf("%+v", c)
		}
		if now, err := q.Get("a", b.ID); err != nil || now.Status != Working {
			t.Errorf("%+v, %v", now, err)
		}
		// The same again is the same build; another one for the name has to wait.
		if same, err := begin(t, q, "a", "1", "x:1", "x:2"); err != nil || same.ID != b.ID {
			t.Errorf("%+v, %v", same, err)
		}
		for _, owner := range []string{"a", "b"} {
			if other, err := begin(t, q, owner, "2", "x:1", "x:2"); !fault.Is(err, fault.Conflict) {
				t.Errorf("%+v, %v", other, err)
			}
		}
		if other, err := q.Get("b", b.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another owner sees %+v, %v", other, err)
		}
		if _, _, err := q.ReadLog("b", b.ID, 0); !fault.Is(err, fault.NotFound) {
			t.Errorf("another owner reads the log: %v", err)
		}
		log, next, err := q.ReadLog("a", b.ID, 0)
		if log != "line 1\n" || err != nil {
			t.Errorf("%q, %v", log, err)
		}
		engine.end <- nil
		synctest.Wait()
		if now, err := q.Get("a", b.ID); err != nil || now.Status != Success {
			t.Errorf("%+v, %v", now, err)
		}
		if log, _, err := q.ReadLog("a", b.ID, next); log != "line 2\n" || err != nil {
			t.Errorf("%q, %v", log, err)
		}
		if after, err := begin(t, q, "a", "2", "x:1"); err != nil {
			t.Errorf("%+v, %v", after, err)
		}
		<-engine.begun
		engine.end <- fault.New(fault.Invalid, "step 2 failed")
		synctest.Wait()
	})
}

func TestFailedBuilds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		wait time.Duration
		want Status
		text string
	}{
		"step":    {fault.New(fault.Invalid, "step 2 failed").Hint("hint"), 0, Failure, "step 2 failed: hint"},
		"engine":  {errors.New("boom"), 0, Internal, "boom"},
		"timeout": {nil, 2 * time.Hour, TimedOut, "1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				engine := newBuilder()
				q := queue(t, Options{Builder: engine, Timeout: time.Hour, Network: true})
				b, err := begin(t, q, "a", "", "x:1")
				must.Succeed(t, err)
				<-engine.begun
				if c.wait == 0 {
					engine.end <- c.err
				}
				time.Sleep(c.wait) // on the bubble's clock
				synctest.Wait()
				if b, err = q.Get("a", b.ID); err != nil || b.Status != c.want || !strings.Contains(b.Reason, c.text) {
					t.Errorf("%+v, %v", b, err)
				}
			})
		})
	}
}

// TestPlaces: neither one owner nor all together get more than there are, and refused
// archives give theirs back.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := newBuilder()
		q := queue(t, Options{Builder: engine})
		for range 2 * maxPlaces {
			u, err := q.Upload("a")
			must.Succeed(t, err)
			if err := u.ReadContext(strings.NewReader("no archive")); !fault.Is(err, fault.Invalid) {
				t.Error(err)
			}
			must.Report(t, u.Close())
		}
		begun := 0
		for _, owner := range []string{"a", "b", "c", "d"} {
			for i := range maxOwned + 1 {
				_, err := begin(t, q, owner, "", owner+":"+string(rune('a'+i)))
				full := i == maxOwned || begun == maxPlaces
				if full != fault.Is(err, fault.RateLimit) || !full && err != nil {
					t.Errorf("%d of %s: %v", i, owner, err)
				}
				if err == nil {
					begun++
				}
			}
		}
		synctest.Wait()
		if len(engine.begun) != parallel {
			t.Errorf("%d builds at a time", len(engine.begun))
		}
		for range begun {
			engine.end <- nil
		}
	})
}

// TestStopped: builds under way when the server ended have failed, and say so.
func TestStopped(t *testing.T) {
	t.Parallel()
	engine, kept, dir := newBuilder(), &memory{all: map[string]Build{}}, t.TempDir()
	q := queue(t, Options{Builder: engine, Store: kept, Dir: dir})
	b, err := begin(t, q, "a", "", "x:1")
	must.Succeed(t, err)
	<-engine.begun
	killed := maps.Clone(kept.all) // leftovers of a process that is killed now
	q.Close()
	if u, err := begin(t, q, "a", "", "x:2"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%+v, %v after the end", u, err)
	}
	for _, all := range []map[string]Build{kept.all, killed} {
		must.Succeed(t, os.WriteFile(dir+"/context-1", nil, 0o600))
		q := queue(t, Options{Builder: engine, Store: &memory{all: all}, Dir: dir})
		if got, err := q.Get("a", b.ID); err != nil || got.Status != Failure || !strings.Contains(got.Reason, "server was stopped") {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if log, _, err := queue(t, Options{Builder: engine, Store: kept}).ReadLog("a", b.ID, 0); log != "line 1\n" || err != nil {
		t.Errorf("%q, %v", log, err)
	}
}

// TestPrune keeps the newest builds of an owner.
func TestPrune(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine, kept := newBuilder(), &memory{all: map[string]Build{}}
		q := queue(t, Options{Builder: engine, Store: kept})
		var last Build
		for range maxFinished + 5 {
			var err error
			if last, err = begin(t, q, "a", "", "x:1"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // on the bubble's clock
			engine.end <- nil
			synctest.Wait()
		}
		if len(q.builds) != maxFinished || len(kept.all) != maxFinished {
			t.Errorf("%d, %d are kept", len(q.builds), len(kept.all))
		}
		if _, err := q.Get("a", last.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	var l log
	line := strings.Repeat("x", 999)
	for range 2 * maxLog / 1000 {
		l.add(line)
	}
	text, next := l.from(0)
	if int64(len(text))+l.skipped != next || next != 2*maxLog/1000*1000 || len(text) > maxLog || len(text) < maxLog/4 || len(text)%1000 != 0 {
		t.Errorf("%d bytes of %d, %d are left out", len(text), next, l.skipped)
	}
	for offset, want := range map[int64]string{next: "", next + 5: "", next - 3: "xx\n"} {
		if got, after := l.from(offset); got != want || after != next {
			t.Errorf("%q, %d", got, after)
		}
	}
}
