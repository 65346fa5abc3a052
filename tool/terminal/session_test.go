package terminal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

func TestStateLasts(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.run("mkdir 'a b'; cd 'a b'; export X='1 2'; y=3; f() { echo f$1; }; alias g='f 4'; umask 077; shopt -s nullglob")
	o := b.run("pwd; echo \"$X\" $y; f 1; g; umask; echo *; false")
	b.want(o, b.dir+"/a b\n1 2 3\nf1\nf4\n0077", 1)
	if got := *o.Metadata.WorkingDir; got != b.dir+"/a b" {
		t.Errorf("working_dir is %q", got)
	}
	b.wantContains("suffix", o.Metadata.Suffix, "\n[The command completed with exit code 1.]")
	b.want(b.run("echo $? $?"), "1 1", 0)
	for name, s := range map[string]*string{"username": o.Metadata.Username, "hostname": o.Metadata.Hostname} {
		if s == nil || *s == "" {
			t.Error(name, "is missing")
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("DEFT_TEST_LEAK", "secret")
	b := open(t, func(c *terminal.Config) {
		c.Env = append(c.Env, "OWN=1", "PROMPT_COMMAND=echo pwned", "BASH_ENV=/nonexistent/env", "PAGER=more", "TMOUT=1")
	})
	must.Succeed(t, os.WriteFile(filepath.Join(b.dir, ".bashrc"), []byte("echo pwned"), 0o600))
	b.want(b.run("echo \"$OWN|$DEFT_TEST_LEAK|$PROMPT_COMMAND|$BASH_ENV|$PAGER|$TMOUT|$PS1\""), "1||||more||", 0)
	b.want(b.run("mkdir bin; : > bin/python3; chmod +x bin/python3"), "", 0)
	o := b.run("PATH=bin:$PATH")
	if got, want := o.Metadata.PyInterpreterPath, b.dir+"/bin/python3"; got == nil || *got != want {
		t.Errorf("py_interpreter_path is %v, want %s", got, want)
	}
}

func TestIncomplete(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for _, command := range []string{
		"touch made\necho 'abc", "if true; then", "for i in 1 2; do", "cat <<EOF\nabc", "echo $(ls", "f() {", "echo a &&", "echo \"${x",
	} {
		o := b.run(command)
		if !o.IsError || !strings.Contains(body(o), "not complete") {
			t.Errorf("%q: %q", command, body(o))
		}
	}
	if o := b.run("echo a\x00b"); !o.IsError {
		t.Error("a NUL was taken")
	}
	b.want(b.run("ls"), "", 0)
}

func TestLongCommand(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for _, size := range []int{4095, 4096, 70_000, 1 << 20} {
		text := strings.Repeat("'x\"é\n", size/6+1)[:size-2] + "zz"
		o := b.run("cat > f <<'EOF-1'\n" + text + "\nEOF-1\nwc -c < f; tail -c 3 f")
		b.want(o, fmt.Sprintf("%d\nzz", size+1), 0)
	}
	b.want(b.run("x='"+strings.Repeat("a", 1<<20)+"'; echo ${#x}"), "1048576", 0)
}

// TestTimeouts lets a command wait on a FIFO, so that nothing depends on how
// long things take.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout *float64
		suffix  string
	}{
		{"soft", nil, "printed nothing for 0.05 seconds"},
		{"hard", new(0.06), "still running after 0.06 seconds"},
		{"zero", new(0.0), "still running after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(c *terminal.Config) { c.SoftTimeout = 50 * time.Millisecond })
			b.want(b.run("mkfifo go"), "", 0)
			o := b.do(t.Context(), event.TerminalAction{Command: "echo one; read x < go; echo \"two $x\"; (exit 4)", Timeout: tt.timeout})
			if !o.Timeout || *o.ExitCode != -1 || o.Metadata.ExitCode != -1 {
				t.Errorf("timeout %v, exit code %v", o.Timeout, *o.ExitCode)
			}
			b.wantContains("suffix", o.Metadata.Suffix, tt.suffix)
			got := body(o)
			o = b.run("echo refused")
			if !o.IsError || !strings.Contains(body(o), "still running") {
				t.Errorf("a second command: %q", body(o))
			}
			o = b.do(t.Context(), event.TerminalAction{Timeout: new(0.0)})
			b.wantContains("prefix", o.Metadata.Prefix, "continues")
			got += "\n" + body(o)
			must.Succeed(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("ho\n"), 0))
			o = b.do(t.Context(), event.TerminalAction{Timeout: new(60.0)})
			if all := strings.Join(strings.Fields(got+"\n"+body(o)), " "); all != "one two ho" || *o.ExitCode != 4 {
				t.Errorf("then: %q, exit code %d", all, *o.ExitCode)
			}
			b.want(b.run("echo next"), "next", 0)
		})
	}
}

// TestForegroundCap uses a command that prints for ever, which no soft
// timeout ends.
func TestForegroundCap(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.ForegroundCap = 50 * time.Millisecond })
	o := b.soft("yes")
	if *o.ExitCode != -1 || !o.Timeout {
		t.Errorf("exit code %d", *o.ExitCode)
	}
	b.wantContains("suffix", o.Metadata.Suffix, "longest that one call may take")
	for !strings.Contains(body(o), "y\n") { // a C-c while bash reads the command has bash's exit code
		o = b.do(t.Context(), event.TerminalAction{})
	}
	o = b.do(t.Context(), event.TerminalAction{Command: "C-c"})
	for n := 1; *o.ExitCode == -1; n++ { // the cap is short, and a busy machine slow to end it
		next := event.TerminalAction{}
		if n%20 == 0 { // one that comes while bash starts the program is lost
			next.Command = "C-c"
		}
		o = b.do(t.Context(), next)
	}
	if *o.ExitCode != 130 {
		t.Errorf("after C-c: %d, %s", *o.ExitCode, o.Metadata.Suffix)
	}
}

// TestFinishedMeanwhile ends a command between two calls.
func TestFinishedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		next event.TerminalAction
		text string
		code int
		pre  string
	}{
		{"poll", event.TerminalAction{}, "late", 6, ""},
		{"command", event.TerminalAction{Command: "echo new", Timeout: new(60.0)}, "late\nnew", 0, "exit code 6"},
		{"input", event.TerminalAction{Command: "x", IsInput: true}, "late", 6, "not sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(c *terminal.Config) { c.SoftTimeout = 50 * time.Millisecond })
			b.run("mkfifo go")
			b.soft("read x < go; echo late; (exit 6)")
			must.Succeed(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("\n"), 0))
			// A refused command does not take the end's report away; once it
			// is no longer refused for running, the command has ended.
			terminal.WaitIdle(b.x)
			o := b.do(t.Context(), tt.next)
			b.want(o, tt.text, tt.code)
			b.wantContains("prefix", o.Metadata.Prefix, tt.pre)
			if o := b.soft(""); !o.IsError {
				t.Errorf("reported twice: %q", body(o))
			}
		})
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	// A long PromptWait: an echo such as ^Z is an unfinished line until a busy machine's
	// shell has answered it.
	quick := func(c *terminal.Config) { c.SoftTimeout, c.PromptWait = 100*time.Millisecond, time.Minute }
	t.Run("nothing runs", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		for _, s := range []string{"yes", "C-c", ""} {
			if o := b.input(s); !o.IsError {
				t.Errorf("%q: %q", s, body(o))
			}
		}
	})
	t.Run("read", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("read -p 'name? ' x; echo \"hello $x\""), "name? ")
		b.want(b.input("Bob"), "Bob\nhello Bob", 0)
	})
	t.Run("password", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("read -s -p 'Password: ' x; echo; echo ${#x}"), "Password: ")
		b.want(b.input("geheim"), "\n6", 0)
	})
	t.Run("cat and C-d", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("echo go; cat"), "go")
		b.until(b.do(t.Context(), event.TerminalAction{Command: "line", IsInput: true}), "line\nline")
		b.want(b.input("C-d"), "", 0)
	})
	t.Run("several lines", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("stty -echo; echo go; read a; read b; echo \"$b-$a\""), "go")
		b.want(b.input("1\n2\n"), "2-1", 0)
	})
	t.Run("unread input is no command", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("stty -echo; echo go; read a; echo got $a"), "go")
		b.want(b.input("1\ntouch bad\ntouch bad2"), "got 1", 0)
		b.want(b.run("ls; read -t 0.01 x; echo \"<$x>\""), "<>", 0)
	})
	t.Run("C-c", func(t *testing.T) {
		t.Parallel()
		// A C-c that comes while bash starts a program is lost on it, so each
		// says itself when it runs.
		for _, command := range []string{
			"sh -c 'echo go; exec sleep 1000'", "echo go; while :; do :; done", "sh -c 'echo go; exec cat'",
			"(while :; do sh -c 'echo go; exec sleep 100'; done)",
		} {
			b := open(t, quick)
			b.until(b.soft(command+"; echo no"), "go")
			o := b.do(t.Context(), event.TerminalAction{Command: "C-c", Timeout: new(60.0)})
			if text := body(o); *o.ExitCode != 130 {
				t.Errorf("%s: exit code %d, %q", command, *o.ExitCode, text)
			}
			b.want(b.run("echo next"), "next", 0)
		}
	})
	t.Run("C-z", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("sh -c 'echo go; exec cat'"), "go")
		if o := b.input("C-z"); *o.ExitCode != 148 {
			t.Errorf("exit code %d: %q", *o.ExitCode, body(o))
		}
		b.wantContains("jobs", body(b.run("jobs")), "Stopped")
		b.until(b.soft("fg"), "cat")
		b.want(b.input("C-c"), "^C", 130)
	})
	t.Run("keys", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("stty raw -echo; echo go; dd bs=1 count=3 2>/dev/null | od -An -c"), "go")
		b.want(b.input("UP"), " 033   [   A", 0)
	})
	t.Run("too long a line", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("echo go; cat"), "go")
		if o := b.input(strings.Repeat("x", 5000)); !o.IsError {
			t.Errorf("%d characters came", len(body(o)))
		}
		b.input("C-c")
	})
	t.Run("output stopped by C-s", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.until(b.soft("stty ixon; echo go; cat"), "go")
		b.do(t.Context(), event.TerminalAction{Command: "C-s", IsInput: true})
		b.want(b.do(t.Context(), event.TerminalAction{Command: "line", IsInput: true}), "", -1)
		b.do(t.Context(), event.TerminalAction{Command: "C-d", IsInput: true})
		o := b.do(t.Context(), event.TerminalAction{Command: "echo fresh", Reset: true, Timeout: new(60.0)})
		b.want(o, "fresh", 0)
	})
	t.Run("a program that takes no input", func(t *testing.T) {
		t.Parallel()
		b := open(t, quick)
		b.soft("stty raw -echo; sleep 1000")
		o := b.input(strings.Repeat("x", 1<<20))
		if !o.IsError && *o.ExitCode != -1 {
			t.Errorf("%q, %d", body(o), *o.ExitCode)
		}
		b.do(t.Context(), event.TerminalAction{Reset: true})
		b.want(b.run("echo next"), "next", 0)
	})
}

// TestIgnoredInterrupt: where a shell has started this process in the background, with
// SIGINT ignored, Ctrl-C stops commands all the same.
func TestIgnoredInterrupt(t *testing.T) {
	t.Parallel()
	if os.Getenv("DEFT_TEST_IGNORED") == "" {
		exe, err := os.Executable()
		must.Succeed(t, err)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" INT QUIT; exec "$0" -test.v -test.run='^TestIgnoredInterrupt$'`, exe)
		cmd.Env = append(os.Environ(), "DEFT_TEST_IGNORED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if !signal.Ignored(syscall.SIGINT) {
		t.Fatal("SIGINT is not ignored: the test tests nothing")
	}
	b := open(t, func(c *terminal.Config) { c.PromptWait = time.Minute })
	if o := b.do(t.Context(), event.TerminalAction{Command: "sleep infinity", Timeout: new(0.2)}); o.ExitCode != nil && *o.ExitCode != -1 {
		t.Fatalf("sleep has ended: %d", *o.ExitCode)
	}
	if o := b.interrupt(); *o.ExitCode != 130 {
		t.Errorf("after C-c: %d, %s", *o.ExitCode, body(o))
	}
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(program, "is missing")
		}
		t.Skip(program, "is missing")
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	b := open(t, func(c *terminal.Config) { c.PromptWait = 200 * time.Millisecond })
	b.until(b.do(t.Context(), event.TerminalAction{Command: "python3 -q", Timeout: new(0.1)}), ">>> ")
	o := b.input("6*7")
	b.wantContains("suffix", o.Metadata.Suffix, "wait for input")
	b.until(o, "42\n>>> ")
	o = b.end(b.input("exit(3)"))
	if *o.ExitCode != 3 {
		t.Errorf("exit code %d: %q", *o.ExitCode, body(o))
	}
}

func TestFullScreen(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.SoftTimeout, c.PromptWait = 100*time.Millisecond, time.Minute })
	o := b.do(t.Context(), event.TerminalAction{Command: `echo before; printf '\e[?1049h\e[2J\e[3;5Hin the middle\e[1;1Htop'; read x; printf '\e[?1049l'; echo after`})
	all := b.until(o, "[A full-screen program is running. Its screen:]\ntop\n\n    in the middle\n")
	b.wantContains("before the screen", all, "before\n")
	b.want(b.input("ENTER"), "after", 0)
	// A program that dies without leaving the full screen.
	b.want(b.run(`printf '\e[?1049h'; stty raw -echo`), "", 0)
	b.want(b.run("echo next; read -t 0.01"), "next", 142)
}

func TestVim(t *testing.T) {
	t.Parallel()
	need(t, "vim")
	b := open(t, func(c *terminal.Config) { c.PromptWait = 300 * time.Millisecond })
	b.until(b.do(t.Context(), event.TerminalAction{Command: "vim -u NONE -n file", Timeout: new(0.1)}), "~")
	b.input("ihello")
	b.until(b.input("ESC"), "hello")
	if o := b.end(b.input(":wq")); *o.ExitCode != 0 {
		t.Errorf("exit code %d, %q", *o.ExitCode, body(o))
	}
	b.want(b.run("cat file"), "hello", 0)
}

func TestShellEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, text string
		code                int
		suffix              string
		kept                bool
	}{
		{"exit", "echo bye; exit 3", "bye", 3, "status 3", true},
		{"set -e", "set -e; false; echo no", "", 1, "status 1", true},
		{"set -eu", "set -euo pipefail; cat /nonexistent 2>/dev/null | cat; echo no", "", 1, "status 1", true},
		{"killed", "echo x; kill -9 $$", "x", 137, "signal 9", false},
		{"exec", "exec sh -c 'echo y; exit 9'", "y", 9, "status 9", false},
		{"exec false", "exec false", "", 1, "status 1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil)
			b.run("mkdir sub; cd sub; export KEPT='a b'; f() { :; }")
			o := b.run("cd ..; " + tt.command)
			b.want(o, tt.text, tt.code)
			b.wantContains("suffix", o.Metadata.Suffix, tt.suffix)
			want := b.dir + "|a b"
			if !tt.kept {
				want = b.dir + "/sub|"
			}
			b.want(b.run("echo \"$PWD|$KEPT\"; f 2>/dev/null || echo fresh"), want+"\nfresh", 0)
		})
	}
}

func TestShellKilledWhileIdle(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	pid, err := strconv.Atoi(body(b.run("echo $$")))
	must.Succeed(t, err)
	must.Succeed(t, syscall.Kill(pid, syscall.SIGKILL))
	terminal.WaitDead(b.x)
	o := b.run("echo again")
	b.want(o, "again", 0)
	b.wantContains("prefix", o.Metadata.Prefix, "signal 9")
}

func TestDirectoryDeleted(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.want(b.run("mkdir -p x/y; cd x/y; rmdir ../y"), "", 0)
	b.want(b.run("echo still; cd /nonexistent 2>/dev/null"), "still", 1)
	b.run("exit")
	b.want(b.run("pwd"), b.dir+"/x", 0)
}

func TestRedirectedShell(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.want(b.run("exec > out 2>&1; echo hidden"), "", 0)
	b.want(b.run("echo hidden too; false"), "", 1)
	b.want(b.run("exec >/dev/tty 2>&1; cat out"), "hidden\nhidden too", 0)
	b.want(b.run("exec >&- 2>&-; false"), "", 1)
	b.want(b.run("exec >/dev/tty 2>/dev/tty; echo back"), "back", 0)
	b.want(b.run("exec </dev/null; read x"), "", 1)
}

func TestBackground(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.run("mkfifo go done")
	o := b.run("{ read x < go; echo from the background; echo > done; } & echo started")
	b.wantContains("output", body(o), "started")
	if o.Metadata.PID <= 0 {
		t.Error("no pid of the background job")
	}
	// The job writes, then the command goes on: the order is certain.
	o = b.run("echo > go; read x < done; echo after")
	b.wantContains("output", body(o), "from the background\n")
	b.wantContains("output", body(o), "after")
	b.run("wait")
	// A job in the background survives the shell.
	b.run("{ read x < go; echo > done; } &")
	b.run("exit")
	b.want(b.run("echo > go; read x < done; echo alive"), "alive", 0)
}

func TestReset(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.SoftTimeout = 50 * time.Millisecond })
	b.run("cd /; x=1; trap '' INT TERM HUP; (trap '' HUP; exec sleep 1000) & echo $! > " + b.dir + "/pid")
	b.soft("sleep 1000")
	if o := b.do(t.Context(), event.TerminalAction{Command: "echo", Reset: true, IsInput: true}); !o.IsError {
		t.Error("reset with is_input was taken")
	}
	pid := body(b.do(t.Context(), event.TerminalAction{Command: "cat pid", Reset: true, Timeout: new(60.0)}))
	if !hasEnded(t, pid) {
		t.Errorf("process %s is still there", pid)
	}
	o := b.do(t.Context(), event.TerminalAction{Command: "echo \"$PWD$x\"", Reset: true, Timeout: new(60.0)})
	b.want(o, b.dir, 0)
	b.wantContains("prefix", o.Metadata.Prefix, "reset")
	o = b.do(t.Context(), event.TerminalAction{Reset: true})
	b.want(o, "", 0)
}

// TestDeepCommand: no nesting of a command ends the process that looks at it.
func TestDeepCommand(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if o := b.run(strings.Repeat("(", 500_000)); *o.ExitCode == 0 {
		t.Error("half a million brackets were run")
	}
	b.want(b.run("echo on"), "on", 0)
}

func TestInterruptedBefore(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.run("true")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := b.do(ctx, event.TerminalAction{Command: "touch made"}); !o.IsError {
		t.Error("the command was run")
	}
	b.want(b.run("ls"), "", 0)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		code          int
		survives      bool
	}{
		{"sleep", "echo > ready; sleep 1000; echo no", 130, true},
		{"loop", "echo > ready; while :; do :; done", 130, true},
		{"ignores INT", "sh -c 'trap \"\" INT; echo > ready; sleep 1000 & wait; wait'", 143, true},
		{"ignores all", "sh -c 'trap \"\" INT TERM; echo > ready; while :; do sleep 1000 & wait; done'", 137, true},
		{"shell ignores INT", "trap '' INT; echo > ready; while :; do :; done", 137, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil)
			b.run("mkfifo ready; x=1")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			read := make(chan error, 1)
			go func() {
				_, err := os.ReadFile(filepath.Join(b.dir, "ready"))
				cancel()
				read <- err
			}()
			o := b.do(ctx, event.TerminalAction{Command: tt.command})
			must.Succeed(t, <-read)
			if *o.ExitCode != tt.code {
				t.Errorf("exit code %d, want %d: %q %s", *o.ExitCode, tt.code, body(o), o.Metadata.Suffix)
			}
			b.wantContains("suffix", o.Metadata.Suffix, "interrupted")
			want := "1"
			if !tt.survives {
				want = ""
			}
			b.want(b.run("echo $x"), want, 0)
		})
	}
}

func TestLongOutput(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.MaxOutput = 1000 })
	o := b.run("for i in {1..2000}; do echo \"€ $i\"; done")
	text := body(o)
	if !strings.HasPrefix(text, "€ 1\n€ 2\n") || !strings.HasSuffix(text, "\n€ 2000") {
		t.Errorf("head or tail is missing: %q", text)
	}
	if n := utf8.RuneCountInString(text); n > 1000+300 {
		t.Errorf("%d characters", n)
	}
	if o.FullOutputSaveDir == nil || *o.FullOutputSaveDir != b.outs {
		t.Fatalf("full_output_save_dir is %v", o.FullOutputSaveDir)
	}
	b.want(b.run("cat "+b.outs+"/* | sha256sum; for i in {1..2000}; do echo \"€ $i\"; done | sha256sum; ls "+b.outs+" | wc -l"), func() string {
		sum := body(b.run("for i in {1..2000}; do echo \"€ $i\"; done | sha256sum"))
		return sum + "\n" + sum + "\n1"
	}(), 0)
	b.wantContains("notice", text, "the full output is in "+b.outs+"/terminal-")

	o = b.run("printf 'x%.0s' {1..1000}")
	b.want(o, strings.Repeat("x", 1000), 0)
	if o.FullOutputSaveDir != nil {
		t.Error("an output of just the limit was saved")
	}
}

// TestFlood is a size that must not hurt: memory stays as it is, all of it
// is saved, and the shell is well.
//
// Not in parallel: it takes the processor from tests with short timeouts.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("32 MB take seconds")
	}
	const size = 32 << 20 // the race detector needs a second for 3 MB of it
	b := open(t, func(c *terminal.Config) { c.ForegroundCap = 10 * time.Minute })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := b.run("yes 'a line of output' | head -c " + strconv.Itoa(size))
	runtime.ReadMemStats(&after)
	if *o.ExitCode != 0 || utf8.RuneCountInString(body(o)) > 30_300 {
		t.Errorf("exit code %d, %d bytes", *o.ExitCode, len(body(o)))
	}
	files, err := filepath.Glob(filepath.Join(b.outs, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved files: %q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() != size {
		t.Errorf("saved: %v, %v", info, err)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 12<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	b.want(b.run("echo next"), "next", 0)
}

func TestOutputNotSaved(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.MaxOutput, c.OutputDir = 10, "" })
	b.wantContains("notice", body(b.run("echo 12345678901234567890")), "was not saved")
	b = open(t, func(c *terminal.Config) { c.MaxOutput, c.OutputDir = 10, "/proc/nowhere" })
	b.wantContains("notice", body(b.run("echo 12345678901234567890")), "was not saved")
	b = open(t, func(c *terminal.Config) { c.MaxOutput, c.MaxSaved = 10, 15 })
	b.wantContains("notice", body(b.run("echo 12345678901234567890")), "the first 15 of 21 bytes")
}

func TestBinary(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	text := body(b.run("head -c 200000 $(command -v bash)"))
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r") {
		t.Error("the text is not clean")
	}
	b.want(b.run("echo next"), "next", 0)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	var got strings.Builder
	var o event.Observation
	var err error
	b.run("mkfifo go")
	o, err = b.x.Execute(t.Context(), tool.Call{
		Action: &event.TerminalAction{Command: "printf 'one\\n\\e[1mpart'; read x < go; echo; echo two"},
		Progress: func(c tool.Chunk) {
			// The command cannot go on before its first output was shown.
			if got.Len() == 0 {
				must.Report(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("\n"), 0))
			}
			got.WriteString(c.Text)
		},
	})
	must.Succeed(t, err)
	b.want(o.(*event.TerminalObservation), "one\npart\ntwo", 0)
	if want := "one\r\n\x1b[1mpart\r\ntwo\r\n"; got.String() != want {
		t.Errorf("progress is %q, want %q", got.String(), want)
	}
}

func TestBadCalls(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if o := b.do(t.Context(), event.TerminalAction{Command: "true", Timeout: new(-1.0)}); !o.IsError {
		t.Error("a negative timeout was taken")
	}
	if _, err := b.x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("another tool's action was taken")
	}
	x := terminal.New(terminal.Config{WorkingDir: "/nonexistent/x"})
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.TerminalAction{Command: "true"}}); err == nil {
		t.Error("a missing working directory was taken")
	}
	must.Report(t, x.Close())
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.TerminalAction{Command: "true"}}); err == nil {
		t.Error("a closed terminal ran a command")
	}
}

func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *terminal.Config) { c.SoftTimeout = 50 * time.Millisecond })
	pids := strings.Fields(body(b.run("set +m; nohup sleep 1000 >/dev/null 2>&1 & echo $!; set -m; sleep 1000 >/dev/null & echo $! $$")))
	b.soft("sleep 1000")
	must.Succeed(t, b.x.Close())
	for _, pid := range pids {
		if !strings.HasPrefix(pid, "[") && !hasEnded(t, pid) {
			t.Errorf("process %s is still there", pid)
		}
	}
}
