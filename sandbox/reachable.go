package sandbox

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/addresses"
)

// Check refuses hosts that no sandbox reaches, whatever is granted: this machine, addresses
// that lead to it, and services of clouds. It is for who names hosts; a Network that is
// stored is not checked again. The error is of kind fault.Invalid.
func (n Network) Check() error {
	own, err := addresses.Own()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "read the addresses of this machine")
	}
	names := addresses.OwnNames(own)
	for _, g := range n.grants() {
		why := ""
		switch reach, what := addresses.Classify(g.addr, own); {
		case g.addr.IsValid() && reach == addresses.Never:
			why = what
		case g.name == "localhost" || strings.HasSuffix(g.name, ".localhost") || !g.below && slices.Contains(names, g.name):
			why = "this machine"
		}
		if why != "" {
			return fault.New(fault.Invalid, g.String()+" is "+why+", which no sandbox reaches").
				Hint("leave it out; what a command starts in the sandbox it reaches there without --net")
		}
	}
	return nil
}

// Names are the names of single hosts, in lower case, and which of them are words: without a dot
// and without a port.
func (n Network) Names() (names map[string]bool) {
	names = map[string]bool{}
	for _, g := range n.grants() {
		if g.name != "" && !g.below {
			names[g.name] = names[g.name] || g.port == 0 && !strings.Contains(g.name, ".")
		}
	}
	return names
}

// grants returns the hosts that are named.
func (n Network) grants() (all []grant) {
	for entry := range strings.SplitSeq(string(n), ",") {
		if entry == "" || entry == string(NetworkNone) || entry == string(NetworkOpen) {
			continue
		}
		if g, err := parseGrant(entry); err == nil {
			all = append(all, g)
		}
	}
	return all
}
