package build

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

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
		if p.Branch = branchOf(r.Workspace); p.Branch != "" && p.Repository == "" {
			p.Repository = filepath.Base(r.Workspace)
		}
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

// maxHead bounds the file that names a branch.
const maxHead = 1 << 10

// branchOf returns the branch that is checked out in a workspace on this machine, "" if there is none. The
// workspace may be hostile: no link out of it is followed, and nothing blocks.
func branchOf(workspace string) string {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	f, err := root.OpenFile(".git/HEAD", os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "" // no repository, or a worktree, whose branch is elsewhere
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	head, err := io.ReadAll(io.LimitReader(f, maxHead))
	branch, ok := strings.CutPrefix(string(head), "ref: refs/heads/")
	if err != nil || !ok {
		return ""
	}
	return strings.TrimSpace(branch)
}
