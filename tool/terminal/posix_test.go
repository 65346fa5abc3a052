package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// TestOtherShells runs the terminal in the shells of images without bash.
func TestOtherShells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dash", "busybox"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(name)
			if err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			b := open(t, func(c *terminal.Config) { c.Shell, c.SoftTimeout = path, 300*time.Millisecond })
			if o := b.run("echo one; (exit 3)"); !strings.Contains(o.Metadata.Prefix, "no bash here") || body(o) != "one" || *o.ExitCode != 3 {
				t.Errorf("first: %q, %v", body(o), o.ExitCode)
			}
			b.want(b.run("echo $?; x='a  b'; export y=\"it's\"; mkdir -p sub && cd sub"), "3", 0)
			b.want(b.run(`echo "$x" "$y"; pwd; sh -c 'echo "$y"'; basename "$0"`), "a  b it's\n"+b.dir+"/sub\nit's\n0", 0)
			b.want(b.run("f() { echo f$1; }\nfor i in 1 2; do\n  f $i\ndone"), "f1\nf2", 0)
			b.want(b.run("cat <<'E'\n$x `y`\nE\nfalse"), "$x `y`", 1)
			b.want(b.run(`test -t 0 && echo terminal; set -eu; set +eu; /bin/ls -l /proc/self/fd 2>/dev/null | grep -c memfd`), "terminal\n0", 1)
			// A mistake ends its own command only.
			if o := b.run("if then"); o.ExitCode == nil || *o.ExitCode != 2 {
				t.Errorf("a syntax error: %q, %v", body(o), o.Metadata)
			}
			b.want(b.run("echo on"), "on", 0)
			// Ctrl-C ends the command and not the shell.
			b.soft("sleep 1000")
			b.interrupt()
			b.want(b.run(`echo $?; echo "$x"`), "130\na  b", 0)
			if name != "busybox" { // it can keep the lock of malloc, and hang, when a signal ends a busy loop
				b.soft("while :; do :; done")
				b.interrupt()
			}
			b.want(b.run("echo $y"), "it's", 0)
			// Input goes to the program.
			b.soft("read line && echo got $line")
			b.want(b.input("text"), "text\ngot text", 0)
			// Secrets are exported and in no argument list.
			if got, _ := b.with(tool.Secrets{"DEFT_S": `a'b"c\$(d)`}, `printf %s "$DEFT_S" >out; set -x; sh -c 'printf %s "$DEFT_S" >>out'; set +x`); strings.Contains(got, "a'b") {
				t.Errorf("shown: %q", got)
			}
			if raw, err := os.ReadFile(filepath.Join(b.dir, "sub", "out")); err != nil || string(raw) != strings.Repeat(`a'b"c\$(d)`, 2) {
				t.Errorf("the command got %q, %v", raw, err)
			}
			// Another shell takes over the directory and the variables of one that has ended.
			if o := b.run("exit 7"); o.ExitCode == nil || *o.ExitCode != 7 {
				t.Errorf("exit: %q, %v", body(o), o.Metadata)
			}
			b.want(b.run(`echo "$y"; pwd; echo "${x-gone}"`), "it's\n"+b.dir+"/sub\ngone", 0)
		})
	}
}

// TestEndOfJob: a job whose end interrupts the shell as it reports the end of the command. Busybox
// loses that write about once in two thousand such commands.
func TestEndOfJob(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("busybox")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	b := open(t, func(c *terminal.Config) { c.Shell = path })
	for range 500 {
		if o := b.run("sleep 1000 & kill %1; echo ended"); o.ExitCode == nil || *o.ExitCode != 0 {
			t.Fatalf("%q, %v", body(o), o.Metadata)
		}
	}
}
