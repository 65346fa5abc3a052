package remote

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// TestVanished: a runtime that has run and is not in the API's list has vanished. One that
// has ended and is kept has not, nor one that never ran. An answer holds for some seconds,
// but not for a runtime that was started after it, and an API that does not answer is not
// waited for.
func TestVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := map[string]string{"runs": "running", "ended": "stopped"}
		down := false
		var p *Provider
		s := &badServer{answer: func(w http.ResponseWriter, r *http.Request, _ int) error {
			if down {
				return errors.New("no route to host")
			}
			list := []map[string]string{{"session_id": "of-another-client-gone", "status": "running"}}
			for id, status := range there {
				session, err := p.session(id)
				if err != nil {
					return err
				}
				list = append(list, map[string]string{"session_id": session, "status": status})
			}
			return reply(w, http.StatusOK, map[string]any{"runtimes": list})
		}}
		p = s.provider(t)
		began := time.Now().Add(-time.Hour)
		mark := func(id, text string, at time.Time) {
			err := errors.Join(os.MkdirAll(p.o.Dir, 0o700), os.WriteFile(p.mark(id), []byte(text), 0o600), os.Chtimes(p.mark(id), at, at))
			must.Succeed(t, err)
		}
		for _, id := range []string{"runs", "ended", "gone"} {
			mark(id, "it has run\n", began)
		}
		mark("starts", "", began)
		ids := []string{"runs", "ended", "gone", "starts", "unknown", "../gone"}
		want := func(want ...string) {
			t.Helper()
			found, err := p.Vanished(t.Context(), ids)
			must.Succeed(t, err)
			if d := cmp.Diff(want, slices.Sorted(maps.Keys(found))); d != "" {
				t.Error(d)
			}
			if at := found["gone"]; !at.Equal(began) {
				t.Errorf("it was started at %v, want %v", at, began)
			}
		}
		if found, err := p.Vanished(t.Context(), []string{"starts", "unknown"}); err != nil || len(found) > 0 || len(s.all) > 0 {
			t.Errorf("of what has not run: %v, %v, after %q", found, err, s.all)
		}
		want("gone")
		delete(there, "runs")
		want("gone")
		time.Sleep(listAge)
		want("gone", "runs")
		there["runs"] = "running"
		mark("runs", "it has run\n", time.Now().Add(time.Nanosecond)) // it is started again
		time.Sleep(time.Second)
		want("gone")
		if n := len(s.all); n != 3 {
			t.Errorf("the API was asked %d times: %q", n, s.all)
		}
		down = true
		time.Sleep(listAge)
		began = time.Now()
		for range 10 {
			if found, err := p.Vanished(t.Context(), ids); err == nil {
				t.Errorf("without an answer: %v", found)
			}
		}
		if waited := time.Since(began); waited > listTime {
			t.Errorf("it was waited %v", waited)
		}
	})
}
