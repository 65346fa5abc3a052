package exchange

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestUntrusted: a certificate of an unknown authority comes with a hint for the
// user.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	base, err := url.Parse(s.URL)
	must.Succeed(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := New(Options{Name: "Forge", Base: base, Header: http.Header{}, HTTP: &http.Client{Transport: transport}, Limits: &Limits{}})
	_, err = c.Get(t.Context(), "/user", nil, nil)
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.HintOf(err), "SSL_CERT_FILE") {
		t.Errorf("%v, %q", err, fault.HintOf(err))
	}
}
