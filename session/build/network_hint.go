package build

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

// unreachable is what programs say when they find no network: that a name cannot
// be resolved, or that there is no way to an address.
var unreachable = []string{
	"Could not resolve host", "Could not resolve hostname", "Temporary failure in name resolution", "Temporary failure resolving",
	"Name or service not known", "unable to resolve host", "failed to lookup address", "dial tcp: lookup", "no such host",
	"EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "UnknownHostException", "etwork is unreachable", "Address family not supported by protocol",
}

// hintRange is how much of the end of an output is searched, in bytes.
const hintRange = 4096

// refusedPath is where the proxy of a sandbox says what it has refused, and refusedWait
// how long it is waited for.
const (
	refusedPath = "/refused"
	refusedWait = 2 * time.Second
)

// maxRefused is how many refused hosts a hint names.
const maxRefused = 5

// networkHint says, after the output of a command that failed, that the sandbox's
// network may be why, and which flag changes that. It is for one caller at a time.
type networkHint struct {
	network sandbox.Network
	proxy   *url.URL  // nil for none
	since   time.Time // when the last command ended
}

// proxyIn returns the sandbox's proxy, as an environment names it, or nil.
func proxyIn(env []string) *url.URL {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "HTTPS_PROXY="); ok {
			if u, err := url.Parse(value); err == nil && u.Host != "" {
				return u
			}
		}
	}
	return nil
}

// explain returns "" if it does not look like it.
func (h *networkHint) explain(output string, status int) string {
	since := h.since
	h.since = time.Now()
	if status == 0 {
		return ""
	}
	if refused := h.refused(time.Since(since), output); refused != "" {
		return refused
	}
	output = output[max(0, len(output)-hintRange):]
	has := func(texts []string) bool {
		for _, t := range texts {
			if strings.Contains(output, t) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(output, "deft: ") && strings.Contains(output, "--net="): // the proxy has said it
		return ""
	case h.network.None() && has(unreachable):
		return "This sandbox has no network. The user can allow it: deft's flag --net=HOST,… for some hosts, --net for all public ones."
	case !h.network.None() && has(unreachable):
		return "Programs in this sandbox reach the network through the proxy in HTTPS_PROXY only; names are resolved there."
	}
	return ""
}

// refused says which hosts the proxy has refused while a command ran: most programs do
// not show the proxy's own words. What the output has already is left out.
func (h *networkHint) refused(within time.Duration, output string) string {
	if h.proxy == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), refusedWait)
	defer cancel()
	u := url.URL{Scheme: h.proxy.Scheme, Host: h.proxy.Host, Path: refusedPath, RawQuery: "within=" + within.String()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return ""
	}
	if password, ok := h.proxy.User.Password(); ok {
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(h.proxy.User.Username()+":"+password)))
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	resp, err := client.Do(req)
	if err != nil {
		return "" // the proxy is gone; commands have told so
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, hintRange))
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Server") != "deft" {
		return ""
	}
	var hosts []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); !strings.Contains(output, line) {
			hosts = append(hosts, line)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	hosts = hosts[max(0, len(hosts)-maxRefused):]
	return "The sandbox's proxy refused what this command asked for: " + strings.Join(hosts, "; ") + ". Only the user can allow it, with that flag of deft's."
}
