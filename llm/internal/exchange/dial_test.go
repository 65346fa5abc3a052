package exchange_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// TestBodies sends bodies of all sizes, in parts and twice over.
func TestBodies(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = w.Write(body)
		}
		must.Report(t, err)
	}))
	t.Cleanup(srv.Close)
	e := exchange.New("test", llm.Config{Model: "m", BaseURL: srv.URL}, "")
	for _, sizes := range [][]int{{1}, {0, 3, 0}, {4096, 1}, {100, 20_000, 3, 60_000}, {1 << 20, 5, 1 << 20}} {
		for _, path := range []string{"", "moved"} {
			var parts [][]byte
			for _, n := range sizes {
				part := make([]byte, n)
				rand.Read(part) // never fails
				parts = append(parts, part)
			}
			res, err := e.Post(t.Context(), path, nil, parts...)
			must.Succeed(t, err)
			got, err := io.ReadAll(res.Body)
			must.Report(t, err)
			must.Report(t, res.Body.Close())
			if !bytes.Equal(got, bytes.Join(parts, nil)) {
				t.Errorf("parts of %v bytes to /%s: %d bytes came back, others than were sent", sizes, path, len(got))
			}
		}
	}
}

// TestRedirectElsewhere checks that keys and conversations are not sent to
// other servers.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server was asked, with the headers %v", r.Header)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.RedirectHandler(other.URL, status))
		t.Cleanup(srv.Close)
		e := exchange.New("test", llm.Config{Model: "m", BaseURL: srv.URL}, "")
		res, err := e.Post(t.Context(), "x", http.Header{"X-Api-Key": {"hush"}}, []byte("{}"))
		if err == nil {
			_ = res.Body.Close()
			t.Errorf("%d was taken for an answer", status)
		}
	}
}
