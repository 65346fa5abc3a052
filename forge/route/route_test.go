package route_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/route"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const octocat = `{"id": 1, "login": "octocat"}`

// host serves the user of every provider.
func host(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, octocat) })
	var s *httptest.Server
	if secure {
		s = httptest.NewTLSServer(h)
	} else {
		s = httptest.NewServer(h)
	}
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T) *route.Hosts {
	t.Helper()
	h := route.New()
	t.Cleanup(h.Close)
	return h
}

// TestHostsOfUsers: the hosts that users may name. Package outbound has the tests of
// addresses.
func TestHostsOfUsers(t *testing.T) {
	t.Parallel()
	plain, secure := host(t, false), host(t, true)
	for name, c := range map[string]struct {
		host  string
		token string
		kind  fault.Kind
	}{
		"plain":               {plain.URL, "t", ""},
		"unknown authority":   {secure.URL, "t", fault.Unavailable},
		"password":            {"https://u:p@git.example.com", "t", fault.Invalid},
		"another scheme":      {"file:///etc", "t", fault.Invalid},
		"query":               {"https://git.example.com?x=1", "t", fault.Invalid},
		"line break in token": {plain.URL, "a\r\nHost: b", fault.Auth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := open(t)
			for _, p := range []forge.Provider{forge.GitHub, forge.GitLab, forge.Forgejo} {
				h, err := hosts.Open(forge.Account{Provider: p, Host: c.host, Token: "t"})
				if c.token != "t" {
					_, err = hosts.Open(forge.Account{Provider: p, Host: c.host, Token: llm.Secret(c.token)})
				}
				if err == nil {
					_, err = h.User(t.Context())
				}
				if c.kind == "" && err != nil || c.kind != "" && !fault.Is(err, c.kind) {
					t.Errorf("%s: %v, of kind %s", p, err, fault.KindOf(err))
				}
			}
		})
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	hosts := open(t)
	if _, err := hosts.Open(forge.Account{Provider: "azure_devops"}); !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
	h, err := hosts.Open(forge.Account{Provider: forge.GitHub, Host: "github.com"})
	must.Succeed(t, err)
	if url, user, _ := h.Clone("a/b"); url != "https://github.com/a/b.git" || user != "x-access-token" {
		t.Error(url, user)
	}
}
