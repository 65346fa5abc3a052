package process_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitIdentity commits inside: the commit carries the user's name, and neither the
// agents of SSH and GnuPG nor git's credentials can be reached, also if their variables
// are given.
func TestGitIdentity(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	python := tool(t, "python3")
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			home, err := os.MkdirTemp("", "home") //nolint:usetesting // the path of a socket is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			agent, err := os.MkdirTemp("", "ssh-") //nolint:usetesting // as ssh-agent does
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(agent) })
			for name, text := range map[string]string{
				".gitconfig":       "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n[credential]\n\thelper = store\n",
				".git-credentials": "https://SECRET@host", ".ssh/id_ed25519": "SECRET", ".gnupg/key": "SECRET",
			} {
				write(t, filepath.Join(home, name), text)
			}
			sockets := []string{filepath.Join(agent, "agent.1"), filepath.Join(home, ".ssh/agent"), filepath.Join(home, ".gnupg/S.gpg-agent")}
			for _, path := range sockets {
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
			}
			b.home = home
			b.Provider = b.provider(t, level)
			b.spec.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "SSH_AUTH_SOCK=" + sockets[0]}
			s := b.start(t)
			got := sh(t, s, `git init -q . && git add hello && git commit -qm one && git log --format='%an <%ae> %cn <%ce>'`)
			if want := "Ada Lovelace <ada@example.com> Ada Lovelace <ada@example.com>\n"; got.Out != want {
				t.Errorf("%q, want %q", got.Out, want)
			}
			if got := sh(t, s, `cat "$HOME/.git-credentials" "$HOME/.ssh/id_ed25519" "$HOME/.gnupg/key"
printf 'protocol=https\nhost=host\n\n' | GIT_TERMINAL_PROMPT=0 git credential fill`).Out; strings.Contains(got, "SECRET") {
				t.Errorf("credentials: %s", got)
			}
			const connect = `import socket, sys
for path in sys.argv[1:]:
    try: socket.socket(socket.AF_UNIX).connect(path); print("connected to", path)
    except OSError: pass`
			if got := ask(t, s, request{Argv: append([]string{python, "-c", connect}, sockets...)}).Out; got != "" {
				t.Error(got)
			}
		})
	}
}
