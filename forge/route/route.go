// Package route opens Git hosts: from an account to the adapter, and to the connections
// that it may make. Programs import it; all else takes a [forge.Opener].
//
// # Usage
//
//	hosts := route.New()
//	host, err := hosts.Open(forge.Account{Provider: forge.GitLab, Host: "git.corp:8443", Token: token})
//	…
//	hosts.Close()
//
// # Which hosts
//
// Users name hosts; package outbound decides which of them are reached. HTTP without TLS,
// which shows tokens, is for hosts that the operator has named, or where there is no
// restriction at all.
//
// # Concurrency and failure
//
// Hosts are safe for concurrent use. Open fails for addresses that cannot be a host's;
// all else is an error of the host's methods.
package route

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/bitbucket"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/gitea"
	"github.com/deft-dev/deft/forge/github"
	"github.com/deft-dev/deft/forge/gitlab"
	"github.com/deft-dev/deft/internal/outbound"
)

// Hosts implements [forge.Opener].
type Hosts struct {
	transport *http.Transport
	limits    exchange.Limits
}

// adapters are the providers' own names, and the functions that open their hosts.
var adapters = map[forge.Provider]struct {
	name string
	open func(exchange.Endpoint) forge.Host
}{
	forge.GitHub:    {"github.com", func(e exchange.Endpoint) forge.Host { return github.New(e) }},
	forge.GitLab:    {"gitlab.com", func(e exchange.Endpoint) forge.Host { return gitlab.New(e) }},
	forge.Bitbucket: {"bitbucket.org", func(e exchange.Endpoint) forge.Host { return bitbucket.New(e) }},
	forge.Forgejo:   {"codeberg.org", func(e exchange.Endpoint) forge.Host { return gitea.New(e) }},
}

// New returns hosts. They trust the certificates of the system, or of
// SSL_CERT_FILE.
func New() *Hosts {
	route := outbound.NewRoute(net.Dialer{Timeout: 10 * time.Second})
	return &Hosts{transport: &http.Transport{
		Proxy: route.Proxy, DialContext: route.Dial, ForceAttemptHTTP2: true,
		MaxIdleConns: 32, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// Close closes connections that are not in use.
func (h *Hosts) Close() {
	h.transport.CloseIdleConnections()
}

// Open implements [forge.Opener].
func (h *Hosts) Open(a forge.Account) (forge.Host, error) {
	adapter, ok := adapters[a.Provider]
	if !ok {
		return nil, fault.New(fault.Unsupported, "Git hosts of the kind "+string(a.Provider)+" are not supported")
	}
	e := exchange.Endpoint{Token: a.Token.Reveal(), Limits: &h.limits, HTTP: &http.Client{Transport: secure{h.transport}}}
	if strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fault.New(fault.Auth, "the token has characters that no token has")
	}
	web, err := baseURL(a.Host)
	if err != nil {
		return nil, err
	}
	if web == nil || web.Host == adapter.name && web.Scheme == "https" && web.Path == "" {
		return adapter.open(e), nil
	}
	e.Web = web
	return adapter.open(e), nil
}

// secure keeps tokens from going over HTTP to hosts that only users have named.
type secure struct{ to *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		public, err := outbound.Resolve(r.Context(), r.URL.Hostname(), r.URL.Port())
		if err == nil && len(public) > 0 {
			err = fault.New(fault.Denied, "the Git host "+r.URL.Host+" must be reached over https").
				Hint("the operator can name it in server.internal_hosts")
		}
		if err != nil {
			return nil, err
		}
	}
	return s.to.RoundTrip(r)
}

// baseURL reads the name or base URL of a host, nil for none.
func baseURL(host string) (*url.URL, error) {
	host = strings.TrimRight(strings.TrimSpace(host), "/")
	if host == "" {
		return nil, nil //nolint:nilnil // no host is the provider's
	}
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fault.New(fault.Invalid, "the Git host must be a name such as git.example.com, or an http(s) URL without a password")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}
