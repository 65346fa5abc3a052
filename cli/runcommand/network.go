package runcommand

import (
	"context"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
)

// lookupLimit bounds the look-up of a host's name.
const lookupLimit = 5 * time.Second

// CheckNetwork refuses hosts of --net that nothing could ever be reached by: those of
// [sandbox.Network.Check], and short names that lookup does not find, which are mostly
// mistyped names of ecosystems.
func CheckNetwork(ctx context.Context, n sandbox.Network, lookup func(ctx context.Context, host string) ([]string, error)) error {
	if err := n.Check(); err != nil {
		return err
	}
	for _, name := range n.ShortNames() {
		limited, cancel := context.WithTimeout(ctx, lookupLimit)
		found, err := lookup(limited, name)
		cancel()
		if err != nil || len(found) == 0 {
			return fault.New(fault.Invalid, "--net: "+name+" is neither an ecosystem nor a host that can be found here").
				Hint("ecosystems are " + strings.Join(registryhosts.Names(), ", ") + "; a host is named in full, as pypi.org")
		}
	}
	return nil
}

// MeantForNet reports whether the word after a --net without value is rather its value
// than the beginning of a task: an ecosystem, none, open, or a list of hosts.
func MeantForNet(word string) bool {
	listed := strings.ContainsAny(word, ".,") && !strings.HasSuffix(word, ".") && !strings.HasSuffix(word, ",")
	for entry := range strings.SplitSeq(strings.ToLower(word), ",") {
		n, err := sandbox.ParseNetwork(entry)
		switch {
		case registryhosts.Known(entry), entry == string(sandbox.NetworkNone), entry == string(sandbox.NetworkOpen):
			listed = true
		case err != nil || n.None():
			return false
		}
	}
	return listed
}
