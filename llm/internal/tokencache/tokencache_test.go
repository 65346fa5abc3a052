package tokencache_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestGet follows credentials from the first fetch until they expire.
func TestGet(t *testing.T) {
	t.Parallel()
	var passed time.Duration // since start
	fetched := 0
	var until time.Time
	var fail error
	c := tokencache.New(func(context.Context) (int, time.Time, error) {
		fetched++
		return fetched, until, fail
	}, func() time.Time { return start.Add(passed) })
	trouble := errors.New("trouble")
	for i, step := range []struct {
		passed time.Duration
		valid  time.Duration // lifetime of a fetched token; 0 is not kept
		fail   error
		want   int // 0: the error
	}{
		{0, 0, nil, 1},
		{0, 0, nil, 2},
		{0, time.Hour, trouble, 0},
		{0, time.Hour, nil, 4},
		{54 * time.Minute, 0, trouble, 4},
		{55 * time.Minute, 0, trouble, 4}, // fetched, without success
		{55*time.Minute + 59*time.Second, time.Hour, nil, 4},
		{56 * time.Minute, 0, trouble, 4},
		{59*time.Minute + 31*time.Second, 0, trouble, 0},
		{59*time.Minute + 31*time.Second, 4 * time.Minute, nil, 8},
		{61 * time.Minute, 0, trouble, 8},
		{62 * time.Minute, time.Hour, nil, 9}, // half of a short time has passed
	} {
		passed, fail, until = step.passed, step.fail, time.Time{}
		if step.valid != 0 {
			until = start.Add(passed + step.valid)
		}
		got, err := c.Get(t.Context())
		if got != step.want || (step.want == 0) != errors.Is(err, trouble) {
			t.Errorf("step %d: %d, %v, want %d", i, got, err, step.want)
		}
	}
}

// TestOneCallFetches checks that concurrent calls fetch once, and that a waiting
// call ends with its context.
func TestOneCallFetches(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	c := tokencache.New(func(context.Context) (string, time.Time, error) {
		close(begun) // a second time panics
		<-release
		return "x", start.Add(time.Hour), nil
	}, func() time.Time { return start })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := c.Get(t.Context()); got != "x" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that gave up: %v", err)
	}
	close(release)
	wg.Wait()
}

// TestFetch checks redirects, large answers and canceled requests.
func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write(make([]byte, 2<<20)); err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "pipe") {
			t.Error(err)
		}
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/token", http.StatusFound) })
	mux.HandleFunc("/token", func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	get := func(ctx context.Context, path string) (tokencache.Answer, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+path+"?key=secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		return tokencache.Fetch(ctx, tokencache.NewClient(true), req, "the service")
	}
	if a, err := get(t.Context(), "/away"); err != nil || a.Status != http.StatusFound {
		t.Errorf("redirect: %+v, %v", a, err)
	}
	if _, err := get(t.Context(), "/large"); fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("large: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCanceled)
	if _, err := get(ctx, "/away"); !errors.Is(err, errCanceled) {
		t.Errorf("canceled: %v", err)
	}
}

var errCanceled = errors.New("canceled by the test")

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status        int
		code, message string
		kind          fault.Kind
		want          string
	}{
		{403, "", "", fault.Auth, "it gave no credentials (HTTP 403)"},
		{400, "Throttling", "slow\ndown", fault.Unavailable, "it gave no credentials (HTTP 400, Throttling): slow down"},
		{503, "", strings.Repeat("é", 200), fault.Unavailable, "it gave no credentials (HTTP 503): " + strings.Repeat("é", 150) + "…"},
		{429, "", "", fault.Unavailable, "it gave no credentials (HTTP 429)"},
	} {
		err := tokencache.Answer{Status: tt.status}.Refused("it", tt.code, tt.message)
		if fault.KindOf(err) != tt.kind || err.Error() != tt.want {
			t.Errorf("%s: %v", fault.KindOf(err), err)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for size, ok := range map[int]bool{0: true, 64 << 10: true, 64<<10 + 1: false} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := tokencache.ReadFile(path); (err == nil) != ok || ok && len(b) != size {
			t.Errorf("%d bytes: %d, %v", size, len(b), err)
		}
	}
}
