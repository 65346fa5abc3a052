package build

import (
	"strings"

	"github.com/deft-dev/deft/sandbox"
)

// unreachable is what programs say when they find no network: that a name cannot
// be resolved, or that there is no way to an address.
var unreachable = []string{
	"Could not resolve host", "Could not resolve hostname", "Temporary failure in name resolution", "Temporary failure resolving",
	"Name or service not known", "unable to resolve host", "failed to lookup address", "dial tcp: lookup", "no such host",
	"EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "UnknownHostException", "etwork is unreachable", "Address family not supported by protocol",
}

// refusedByProxy is what programs say that do not show the proxy's own words.
var refusedByProxy = []string{"CONNECT tunnel failed, response 403", "HTTP code 403 from proxy", "Proxy tunneling failed: Forbidden"}

// hintRange is how much of the end of an output is searched, in bytes.
const hintRange = 4096

// networkHint says, after the output of a command that failed, that the sandbox's
// network may be why, and which flag changes that; "" if the output does not look
// like it.
func networkHint(n sandbox.Network, output string) string {
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
	case n.None() && has(unreachable):
		return "This sandbox has no network. The user can allow it: deft's flag --net=HOST,… for some hosts, --net for all public ones."
	case !n.None() && has(refusedByProxy):
		return "The sandbox's proxy refused the host. Public hosts that are not allowed, and private ones, can be allowed by the user with deft's flag --net=HOST,…; " +
			"curl -sS -v shows the proxy's reason."
	case !n.None() && has(unreachable):
		return "Programs in this sandbox reach the network through the proxy in HTTPS_PROXY only; names are resolved there."
	}
	return ""
}
