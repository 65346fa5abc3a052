package build

import (
	"cmp"
	"strings"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// place describes to the agent where it works.
func (b *Builder) place(r session.BuildRequest) codeact.Place {
	class := b.class(r.Placement)
	p := codeact.Place{
		Repository: r.Prompt.Repository.Name, Branch: r.Prompt.Repository.Branch, Directory: r.Workspace,
		Sandbox: class.Summary, Network: reached(r.Network),
	}
	if class.Inside == "" && p.Branch == "" {
		name, branch := checkoutOf(r.Workspace)
		p.Repository, p.Branch = cmp.Or(p.Repository, name), branch
	}
	if class.Open(r.Isolation) {
		p.Sandbox, p.Network = "no sandbox: they have the rights of the user", "all hosts that the user's machine reaches"
	}
	return p
}

// reached says which hosts a network reaches.
func reached(n sandbox.Network) string {
	switch {
	case n.None():
		return "none"
	case n.Open():
		more := strings.ReplaceAll(strings.TrimPrefix(string(n), string(sandbox.NetworkOpen)), ",", ", ")
		return "every public host" + more
	}
	return strings.ReplaceAll(string(n), ",", ", ")
}
