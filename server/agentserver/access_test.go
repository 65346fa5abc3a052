package agentserver_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/rest"
)

// TestAccess: of an agent server with a key, nobody reaches a route that is not public, and
// who has the key reaches all.
func TestAccess(t *testing.T) {
	t.Parallel()
	all := agentserver.Routes()
	if len(all) < 150 {
		t.Fatalf("%d routes: the test tests nothing", len(all))
	}
	for i := range all {
		all[i].Handle = func(w http.ResponseWriter, _ *http.Request) error { return rest.OK(w) }
	}
	h, err := rest.New(rest.Options{Routes: all, Keys: func() []string { return []string{"k"} }})
	must.Succeed(t, err)
	for _, r := range all {
		open := r.Scope == rest.Public || r.Scope == rest.Checked
		for _, key := range []string{"", "wrong", "k"} {
			ask := httptest.NewRequestWithContext(t.Context(), cmp.Or(r.Method, "GET"), "http://h"+strings.NewReplacer("{$}", "", "{", "", "...}", "", "}", "").Replace(r.Path), nil)
			ask.Header.Set(rest.KeyHeader, key)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, ask)
			want := http.StatusUnauthorized
			if open || key == "k" {
				want = http.StatusOK
			}
			if w.Code != want {
				t.Errorf("%s with the key %q: %d %s", r.Pattern(), key, w.Code, w.Body)
			}
		}
	}
}
