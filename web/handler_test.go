package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deft-dev/deft/internal/must"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	built := fstest.MapFS{
		"index.html":         {Data: []byte("<title>Deft</title>")},
		"robots.txt":         {Data: []byte("Disallow: /")},
		"assets/a-123.js":    {Data: []byte("plain")},
		"assets/a-123.js.gz": {Data: []byte("compressed")},
	}
	for _, c := range []struct {
		name, method, path, encoding string
		files                        fstest.MapFS
		status                       int
		body, cache                  string
	}{
		{"page", "GET", "/", "", built, 200, "<title>Deft", "no-cache"},
		{"page of a conversation", "GET", "/conversations/1", "", built, 200, "<title>Deft", "no-cache"},
		{"file", "GET", "/robots.txt", "", built, 200, "Disallow", "no-cache"},
		{"asset", "GET", "/assets/a-123.js", "", built, 200, "plain", "public, max-age=31536000, immutable"},
		{"compressed asset", "GET", "/assets/a-123.js", "br, gzip", built, 200, "compressed", "public, max-age=31536000, immutable"},
		{"stored copy", "GET", "/assets/a-123.js.gz", "", built, 404, "not found", ""},
		{"old asset", "GET", "/assets/a-1.js", "", built, 404, "not found", ""},
		{"directory", "GET", "/assets", "", built, 200, "<title>Deft", "no-cache"},
		{"outside", "GET", "/../handler.go", "", built, 200, "<title>Deft", "no-cache"},
		{"method", "POST", "/", "", built, 405, "not allowed", ""},
		{"not built", "GET", "/", "", fstest.MapFS{"robots.txt": built["robots.txt"]}, 404, "make run", "no-store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), c.method, "http://127.0.0.1/", nil)
			r.URL.Path = c.path
			if c.encoding != "" {
				r.Header.Set("Accept-Encoding", c.encoding)
			}
			w := httptest.NewRecorder()
			handler{c.files}.ServeHTTP(w, r)
			got := w.Result()
			defer got.Body.Close()
			body, err := io.ReadAll(got.Body)
			must.Succeed(t, err)
			if got.StatusCode != c.status || !strings.Contains(string(body), c.body) {
				t.Errorf("got %d %q, want %d with %q", got.StatusCode, body, c.status, c.body)
			}
			if cache := got.Header.Get("Cache-Control"); cache != c.cache {
				t.Errorf("Cache-Control: got %q, want %q", cache, c.cache)
			}
			if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") {
				t.Errorf("Content-Security-Policy: got %q", policy)
			}
		})
	}
}

func TestUnchangedPage(t *testing.T) {
	t.Parallel()
	h := handler{fstest.MapFS{"index.html": {Data: []byte("page")}}}
	first := httptest.NewRecorder()
	h.ServeHTTP(first, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	again := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	again.Header.Set("If-None-Match", first.Header().Get("ETag"))
	second := httptest.NewRecorder()
	h.ServeHTTP(second, again)
	if second.Code != http.StatusNotModified {
		t.Errorf("got %d, want 304", second.Code)
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/robots.txt", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Disallow") {
		t.Errorf("got %d %q: dist/robots.txt must be checked in", w.Code, w.Body)
	}
	want := http.StatusNotFound
	if Built() {
		want = http.StatusOK
	}
	page := httptest.NewRecorder()
	Handler().ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if page.Code != want {
		t.Errorf("page: got %d, want %d", page.Code, want)
	}
}
