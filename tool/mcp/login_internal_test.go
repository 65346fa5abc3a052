package mcp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestLoginAddresses has a public server refer to this machine in the course of a login: it is not
// asked. A server of this machine may refer to it.
func TestLoginAddresses(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(here.Close)
	for server, denied := range map[string]bool{"http://8.8.8.8/mcp": true, here.URL: false} {
		at, err := url.Parse(server)
		must.Succeed(t, err)
		resp, err := authClient(t.Context(), at).Get(here.URL)
		if err == nil {
			resp.Body.Close()
		}
		if fault.Is(err, fault.Denied) != denied || !denied && err != nil {
			t.Errorf("%s refers to this machine: %v", server, err)
		}
	}
}
