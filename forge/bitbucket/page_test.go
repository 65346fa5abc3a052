package bitbucket_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/bitbucket"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/internal/must"
)

// TestCursors: pages are asked for by Bitbucket's cursors, and by nothing else that a user
// or Bitbucket writes there.
func TestCursors(t *testing.T) {
	t.Parallel()
	next := "https://evil.example/x?page=8xhd&pagelen=100&q=other&after=a%2Fb"
	s := forgetest.Replay(t, nil)
	s.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(`{"values": [], "next": "` + next + `"}`))
		return true
	}
	h, ctx := s.Open(func(e exchange.Endpoint) forge.Host { return bitbucket.New(e) }, forgetest.Token), t.Context()
	page, err := h.Branches(ctx, "a/b", "", forge.Page{Size: 7})
	must.Succeed(t, err)
	if _, err = h.Branches(ctx, "a/b", "", forge.Page{Token: page.Next, Size: 9}); err != nil {
		t.Fatal(err)
	}
	if want := "GET /2.0/repositories/a/b/refs/branches?after=a%2Fb&page=8xhd&pagelen=7"; s.Asked[1] != want {
		t.Errorf("asked %s, want %s", s.Asked[1], want)
	}
	for _, bad := range []string{"next.", "next.0.page=x", "next.51.page=x", "next.x.page=x", "next.7.%zz", "next.7.page=" + strings.Repeat("x", 2000)} {
		if _, err := h.Branches(ctx, "a/b", "", forge.Page{Token: bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err = h.Branches(ctx, "a/b", "", forge.Page{Token: "next.7." + url.Values{"page": {"p"}, "q": {"other"}, "pagelen": {"999"}}.Encode()}); err != nil {
		t.Error(err)
	}
	if want := "GET /2.0/repositories/a/b/refs/branches?page=p&pagelen=7"; s.Asked[len(s.Asked)-1] != want {
		t.Errorf("asked %s, want %s", s.Asked[len(s.Asked)-1], want)
	}
	for _, next = range []string{"https://x/?", ":", "https://x/?page=" + strings.Repeat("x", 2000)} {
		if _, err = h.Branches(ctx, "a/b", "", forge.Page{}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%.20q: %v", next, err)
		}
	}
}
