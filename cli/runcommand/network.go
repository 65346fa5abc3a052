package runcommand

import (
	"context"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
)

// lookupLimit bounds the look-up of a host's name.
const lookupLimit = 5 * time.Second

// CheckNetwork refuses hosts of --net that nothing could ever be reached by: those of
// [sandbox.Network.Check], names that lead to this machine only, and words that lookup does not
// find, which are mostly mistyped names of ecosystems. Of names with a dot, which may not be known
// here, only those are looked up that begin as the machine's own.
func CheckNetwork(ctx context.Context, n sandbox.Network, lookup func(ctx context.Context, host string) ([]string, error)) error {
	if err := n.Check(); err != nil {
		return err
	}
	own, err := addresses.Own()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "read the addresses of this machine")
	}
	machine, _ := os.Hostname() // without one no name begins as it
	machine, _, _ = strings.Cut(strings.ToLower(machine), ".")
	names := n.Names()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		first, _, dotted := strings.Cut(name, ".")
		if dotted && first != machine {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, lookupLimit)
		found, err := lookup(limited, name)
		cancel()
		switch here := func(found string) bool {
			a, err := netip.ParseAddr(found)
			return err != nil || addresses.OfMachine(a, own)
		}; {
		case err != nil || len(found) == 0:
			if names[name] {
				return fault.New(fault.Invalid, "--net: "+name+" is neither an ecosystem nor a host that can be found here").
					Hint("ecosystems are " + strings.Join(registryhosts.Names(), ", ") + "; a host is named in full, as pypi.org")
			}
		case !slices.ContainsFunc(found, func(one string) bool { return !here(one) }):
			return fault.New(fault.Invalid, "--net: "+name+" is this machine, which no sandbox reaches").
				Hint("leave it out; what a command starts in the sandbox it reaches there without --net")
		}
	}
	return nil
}

// MeantForNet reports whether the word after a --net without value can be its value: whatever
// can be an ecosystem, none, open, a host or a list of them. A task of several words without
// quotation marks may begin with such a word too, which nothing tells apart.
func MeantForNet(word string) bool {
	for entry := range strings.SplitSeq(strings.ToLower(word), ",") {
		n, err := sandbox.ParseNetwork(entry)
		if !registryhosts.Known(entry) && entry != string(sandbox.NetworkNone) && (err != nil || n.None()) {
			return false
		}
	}
	return true
}
