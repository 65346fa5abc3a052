package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/sandbox/process"
)

// TestEscapes runs, as a command would, ways around a sandbox that other sandboxes
// had to fix. Each line must not print SECRET nor change the file outside. Ways
// around a list of allowed commands (a copied binary, the loader, an interpreter)
// are no ways around this: the kernel judges the act, not the program.
func TestEscapes(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			b.spec.Hidden = []string{filepath.Join(b.ws, "private")}
			outside := filepath.Join(filepath.Dir(b.ws), "outside", "file")
			s := b.start(t)
			for name, script := range map[string]string{
				"/proc/self/root":      `cat /proc/self/root$HOME/.ssh/id_ed25519; echo x >/proc/self/root$1`,
				"/proc/1/root":         `cat /proc/1/root$HOME/.ssh/id_ed25519; echo x >/proc/1/root$1`,
				"/proc/1/cwd":          `echo x >/proc/1/cwd/../outside/file`,
				"copied binary":        `cp /bin/cat ./c; ./c $HOME/.ssh/id_ed25519; cp /bin/tee ./t; echo x | ./t $1`,
				"copied binary in tmp": `d=${TMPDIR:-/tmp}; cp /bin/rm $d/r; $d/r -f $1`,
				"through the loader":   `for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do $l /bin/rm -f $1; $l /bin/cat $HOME/.netrc; done`,
				"delete by parent":     `rm -rf ../outside $PWD/../outside`,
				"delete by link":       `ln -s ../outside o; rm -rf o/ o/*; rm -f o/file`,
				"delete by list":       `echo $1 | xargs rm -rf`,
				"move out":             `mv hello $1; mv -f hello ../outside/`,
				"hard link":            `ln $HOME/.ssh/id_ed25519 k; cat k; ln $1 f; echo x >f`,
				"link to a secret":     `ln -s $HOME/.ssh s; cat s/id_ed25519`,
				"secret by glob":       `cat $HOME/.*/* $HOME/.* $HOME/.config/*/* $HOME/.local/share/*/*`,
				"other projects":       `cat $HOME/notes.txt $HOME/other/.env $HOME/../home/other/.env; cat $HOME/*; find $HOME/other -type f -exec cat {} +`,
				"configurations":       `cat $HOME/.gitconfig $HOME/.cargo/config.toml $HOME/.config/go/env; git config --global --list`,
				"secrets by tar":       `tar cf - $HOME | tr -d '\0'`,
				"hidden in workspace":  `cat private/key private/*; cat ../work/private/key`,
				"rename hidden":        `mv private p; cat p/key`,
				"bind hidden away":     `umount $PWD/private; umount -l $PWD/private; cat private/key; umount -l $HOME; cat $HOME/.netrc`,
				"mount over":           `mount -t tmpfs none /tmp; mount --bind / /mnt; mount -o remount,rw /; echo x >$1`,
				"namespaces":           `unshare -Urm sh -c "umount -l $HOME; cat $HOME/.netrc; echo x >$1"`,
				"enter namespace":      `nsenter -t 1 -m cat $HOME/.netrc`,
				"chroot":               `chroot /proc/1/root cat $HOME/.netrc`,
				"server's environment": `tr '\0' '\n' </proc/1/environ | sed s/hunter2/SECRET/; cat /proc/$PPID/environ | sed s/hunter2/SECRET/`,
				"server's memory":      `dd if=/proc/$PPID/mem bs=1 count=1 && echo SECRET`,
				"server's descriptors": `cat <>/proc/$PPID/fd/4 && echo SECRET`,
				"user of outside":      `su root -c "cat $HOME/.netrc"; sudo -n cat $HOME/.netrc`,
				"system secrets":       `test -s /etc/shadow && cat /etc/shadow && echo SECRET`,
				"core pattern":         `echo '|/bin/sh' >/proc/sys/kernel/core_pattern && echo SECRET`,
				"mode of a device":     `chmod 600 /dev/null && echo SECRET`,
				"state by descriptor":  `cat "$2/one/state.json" && echo SECRET; cat "$2"/*/journal && echo SECRET`,
				"replace the program":  `echo x >"$3" && echo SECRET; rm -f "$3" && test ! -e "$3" && echo SECRET`,
			} {
				if level == process.LevelLandlock && name == "mode of a device" {
					continue // its Report says so: file-modes
				}
				a := sh(t, s, "exec 2>&1; "+script, outside, b.dir, b.spec.Argv[0])
				if strings.Contains(a.Out, "SECRET") {
					t.Errorf("%s: %s", name, a.Out)
				}
				if got, err := os.ReadFile(outside); err != nil || string(got) != "outside" {
					t.Errorf("%s: the file outside reads %q, %v", name, got, err)
					write(t, outside, "outside")
				}
			}
			if _, err := os.Stat(b.spec.Argv[0]); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(filepath.Join(b.ws, "private/key")); err != nil || string(got) != "SECRET" {
				t.Errorf("hidden file in the workspace is %q, %v", got, err)
			}
		})
	}
}

// tool finds an outside program as the sandbox sees it.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(name + " is missing")
	}
	t.Skip(name + " is missing")
	return ""
}
