package rest_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/server/rest"
)

func TestCompressed(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("text ", 1000) + `"`
	for _, tt := range []struct {
		name, accept, body string
		status             int
		compressed         bool
	}{
		{"long", "gzip, deflate, br", long, 200, true},
		{"with a quality", "br;q=1, GZIP; q=0.5", long, 200, true},
		{"not accepted", "br", long, 200, false},
		{"refused", "gzip;q=0", long, 200, false},
		{"none named", "", long, 200, false},
		{"short", "gzip", `"text"`, 200, false},
		{"an error", "gzip", long, 400, true},
	} {
		route := rest.Compressed(rest.Route{Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return rest.Bytes(w, tt.status, []byte(tt.body))
		}})
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", tt.accept)
		w := httptest.NewRecorder()
		if err := route.Handle(w, r); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != tt.compressed || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", tt.name, w.Header())
		}
		var body io.Reader = w.Body
		if tt.compressed {
			if w.Body.Len() > len(tt.body)/5 || w.Header().Get("Content-Length") != "" {
				t.Errorf("%s: %d bytes, %v", tt.name, w.Body.Len(), w.Header())
			}
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			body = z
		}
		if got, err := io.ReadAll(body); string(got) != tt.body || err != nil || w.Code != tt.status {
			t.Errorf("%s: %d %.100q %v", tt.name, w.Code, got, err)
		}
	}
	refused := rest.Compressed(rest.Route{Handle: func(http.ResponseWriter, *http.Request) error { return rest.Fail(404, "no") }})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	if err := refused.Handle(httptest.NewRecorder(), r); err == nil {
		t.Error("the error of the handler is lost")
	}
}
