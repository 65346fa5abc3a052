package egressproxy

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	server := "deft"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/refused?within=1m0s" || r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("deft:token")) {
			t.Errorf("%s %q", r.URL, r.Header)
		}
		w.Header().Set("Server", server)
		_, _ = io.WriteString(w, "one\ntwo\n")
	}))
	defer proxy.Close()
	env := []string{"A=b", "HTTPS_PROXY=" + strings.Replace(proxy.URL, "://", "://deft:token@", 1)}
	if got, err := Refused(t.Context(), env, time.Minute); err != nil || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Refused(t.Context(), env[:1], time.Second); err != nil || got != nil {
		t.Errorf("without a proxy: %q, %v", got, err)
	}
	server = "another"
	if got, err := Refused(t.Context(), env, time.Minute); err == nil {
		t.Errorf("another proxy: %q", got)
	}
	for _, value := range []string{"http://127.0.0.1:1", "http://%zz"} {
		if got, err := Refused(t.Context(), []string{"HTTPS_PROXY=" + value}, time.Second); err == nil {
			t.Errorf("%s: %q", value, got)
		}
	}
}
