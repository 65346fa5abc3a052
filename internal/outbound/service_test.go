package outbound_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/outbound"
)

// TestService asks a service that answers in several ways. No error has the key, or the server's
// words.
func TestService(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must.Report(t, err)
		switch r.URL.Path {
		case "/good":
			if r.Header.Get("Authorization") == "Bearer hush" && string(body) == `{"a":1}` {
				_, _ = io.WriteString(w, `{"b":2}`) // the test reads it
			}
		case "/elsewhere":
			http.Redirect(w, r, "/good", http.StatusTemporaryRedirect)
		case "/denied":
			http.Error(w, "secret words", http.StatusForbidden)
		case "/long":
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 2<<20)+`"`) // read in part
		}
	}))
	t.Cleanup(s.Close)
	client := outbound.NewService("oracle")
	for path, want := range map[string]struct {
		kind fault.Kind
		says string
	}{
		s.URL + "/good":                   {"", ""},
		s.URL + "/elsewhere":              {fault.Unavailable, "is not available: it answered with status 307"},
		s.URL + "/denied":                 {fault.Auth, "does not accept the key: it answered with status 403"},
		s.URL + "/long":                   {fault.Unavailable, "cannot be read"},
		s.URL + "/nothing":                {fault.Unavailable, "cannot be read"},
		"http://127.0.0.1:1/?key=unshown": {fault.Unavailable, "the oracle at 127.0.0.1:1 cannot be reached"},
		"file:///etc/passwd":              {fault.Invalid, "the address of the oracle cannot be used"},
		"":                                {fault.Invalid, "the address of the oracle cannot be used"},
	} {
		var got struct{ B int }
		err := client.Ask(t.Context(), outbound.Ask{Method: http.MethodPost, URL: path, Key: "hush", Body: map[string]int{"a": 1}}, &got)
		switch {
		case want.says == "":
			if err != nil || got.B != 2 {
				t.Errorf("%s: %+v, %v", path, got, err)
			}
		case err == nil || !fault.Is(err, want.kind) || !strings.Contains(err.Error(), want.says):
			t.Errorf("%s: %v, want %q", path, err, want.says)
		case strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "secret words") || strings.Contains(err.Error(), "unshown"):
			t.Errorf("%s: the error shows too much: %v", path, err)
		}
	}
}
