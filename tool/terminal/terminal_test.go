package terminal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// TestMain makes this process one that others of its user cannot look into, as deft and
// the action server are.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// bench is a terminal to try things on.
type bench struct {
	t    testing.TB
	x    tool.Executor
	dir  string // working directory
	outs string // where full outputs go
}

// open starts a terminal; edit may change its configuration.
func open(t testing.TB, edit func(*terminal.Config)) *bench {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("bash is missing")
		}
		t.Skip("bash is missing")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	b := &bench{t: t, dir: dir, outs: filepath.Join(t.TempDir(), "out")}
	cfg := terminal.Config{
		WorkingDir: b.dir, OutputDir: b.outs,
		Env:           []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
		ForegroundCap: time.Minute,
	}
	if edit != nil {
		edit(&cfg)
	}
	b.x = terminal.New(cfg)
	t.Cleanup(func() {
		if err := b.x.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return b
}

func (b *bench) do(ctx context.Context, a event.TerminalAction) *event.TerminalObservation {
	b.t.Helper()
	o, err := b.x.Execute(ctx, tool.Call{Action: &a, Progress: func(tool.Chunk) {}})
	if err != nil {
		b.t.Fatalf("execute %.100q: %v", a.Command, err)
	}
	return o.(*event.TerminalObservation)
}

// run runs a command to its end.
func (b *bench) run(command string) *event.TerminalObservation {
	b.t.Helper()
	return b.do(b.t.Context(), event.TerminalAction{Command: command, Timeout: new(60.0)})
}

// soft runs a command until it is silent for the soft timeout.
func (b *bench) soft(command string) *event.TerminalObservation {
	b.t.Helper()
	return b.do(b.t.Context(), event.TerminalAction{Command: command})
}

func (b *bench) input(s string) *event.TerminalObservation {
	b.t.Helper()
	return b.do(b.t.Context(), event.TerminalAction{Command: s, IsInput: true, Timeout: new(60.0)})
}

// interrupt presses Ctrl-C until the command has ended: on a busy machine the first may
// come before the shell has begun with the command, and its echo for longer than usual be
// the last that is seen.
func (b *bench) interrupt() *event.TerminalObservation {
	b.t.Helper()
	for {
		if o := b.do(b.t.Context(), event.TerminalAction{Command: "C-c", IsInput: true, Timeout: new(3.0)}); *o.ExitCode != -1 {
			return o
		}
	}
}

// until polls, from observation o on, until all text together contains want;
// it returns that text.
func (b *bench) until(o *event.TerminalObservation, want string) string {
	b.t.Helper()
	all := body(o)
	for !strings.Contains(all, want) {
		if *o.ExitCode != -1 {
			b.t.Fatalf("ended with %d before %q: %q", *o.ExitCode, want, all)
		}
		o = b.do(b.t.Context(), event.TerminalAction{Timeout: new(0.05)})
		all += "\n" + body(o)
	}
	return all
}

// end polls, from observation o on, until the command has ended.
func (b *bench) end(o *event.TerminalObservation) *event.TerminalObservation {
	b.t.Helper()
	for *o.ExitCode == -1 {
		o = b.do(b.t.Context(), event.TerminalAction{Timeout: new(0.05)})
	}
	return o
}

func body(o *event.TerminalObservation) string { return event.JoinText(o.Content) }

// hasEnded reports whether a process has ended; a zombie has.
func hasEnded(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// want checks text and exit code.
func (b *bench) want(o *event.TerminalObservation, text string, code int) {
	b.t.Helper()
	if diff := cmp.Diff(text, body(o)); diff != "" {
		b.t.Errorf("%.100q: text differs (-want +got):\n%s", *o.Command, diff)
	}
	if o.ExitCode == nil || *o.ExitCode != code || o.Metadata.ExitCode != code {
		b.t.Errorf("%.100q: exit code %v, want %d; suffix %q", *o.Command, o.Metadata.ExitCode, code, o.Metadata.Suffix)
	}
}

func (b *bench) wantContains(what, got, want string) {
	b.t.Helper()
	if !strings.Contains(got, want) {
		b.t.Errorf("%s is %q, without %q", what, got, want)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		want          string
		code          int
	}{
		{"nothing", "true", "", 0},
		{"failure", "false", "", 1},
		{"text", "echo hi", "hi", 0},
		{"no newline at the end", "printf hi", "hi", 0},
		{"status of the last", "false; echo x", "x", 0},
		{"stderr", "echo err >&2; exit_code() { return 7; }; exit_code", "err", 7},
		{"not found", "no-such-program-here", "bash: no-such-program-here: command not found", 127},
		{"killed by signal", "bash -c 'kill -TERM $$'", "Terminated", 143},
		{"multi-line", "for i in 1 2\ndo\n  echo $i\ndone\necho end", "1\n2\nend", 0},
		{"heredoc", "cat <<'EOF'\n$x 'a' \"b\"\nEOF\necho z", "$x 'a' \"b\"\nz", 0},
		{"heredoc at the end", "cat <<EOF\nabc\nEOF", "abc", 0},
		{"function", "f() {\n  echo \"<$1>\"\n}\nf 'a b'", "<a b>", 0},
		{"alias on the next line", "alias hey='echo hello'\nhey you", "hello you", 0},
		{"quotes", `echo 'it'\''s' "a\"b" $'c\'d'`, `it's a"b c'd`, 0},
		{"backslashes", `printf '%s\n' '\n\\' \\`, "\\n\\\\\n\\", 0},
		{"history expansion", `echo "wow!" !! !x`, "wow! !! !x", 0},
		{"comment", "echo a # not 'this", "a", 0},
		{"only a comment", "# nothing", "", 0},
		{"braces and brackets", "echo } ; echo ')' {1..3}", "}\n) 1 2 3", 0},
		{"syntax error", "echo a; fi", "bash: syntax error near unexpected token `fi'", 2},
		{"syntax error inside eval", `eval 'echo "'`, "bash: unexpected EOF while looking for matching `\"'", 2},
		{"control characters", "printf '%q\\n' '\x01\x7f\x02'", `$'\001\177\002'`, 0},
		{"unicode", "echo 'ä€😀'", "ä€😀", 0},
		{"invalid in command", "printf '\xff' | od -An -tx1", " ff", 0},
		{"set -e, nothing fails", "set -e; echo a", "a", 0},
		{"set -x", "set -x; echo a", "++ echo a\na", 0},
		{"set -v", "set -v; echo a", "a", 0},
		{"set -u", "set -u; echo $nope; echo not here", "bash: nope: unbound variable", 1},
		{"debug trap", "trap 'echo dbg' DEBUG", "", 0},
		{"err trap", "trap 'echo failed' ERR; false", "failed", 1},
		{"prompt", "PS1='$ '; PROMPT_COMMAND='echo pc'; PS2='> '; PS0=ps0", "", 0},
		{"return", "return 3", "bash: return: can only `return' from a function or sourced script", 2},
		{"subshell exit", "(exit 5)", "", 5},
		{"pipe", "printf '3\\n1\\n2\\n' | sort | tr '\\n' ,", "1,2,3,", 0},
		{"terminal on all three", "[ -t 0 ] && [ -t 1 ] && [ -t 2 ]", "", 0},
		{"reads nothing of the session", "read -t 0; echo $?", "1", 0},
		{"carriage returns", `printf ' 10%%\r 50%%\r100%%\n'; printf 'a\r\n'`, "100%\na", 0},
		{"colours", `printf '\e[31mred\e[0m\n'`, "red", 0},
		{"queries", `printf '\e[6n\e[c\e]11;?\a\eP$qm\e\\done\n'; read -t 0.01 -n 1 x; echo "<$x>"`, "done\n<>", 0},
		{"nul and binary", `printf 'a\0b\377c\n'`, "ab\uFFFDc", 0},
		{"forged marker", `printf '\e_DEFT0123456789ABCDEF0123456789ABCDEF\e\\after\n'`, "after", 0},
		{"half a marker", `printf 'x\e_DEFT0123'`, "x", 0},
		{"stty raw", "stty raw -echo; echo a; echo b", "a\nb", 0},
		{"stty olcuc", "stty olcuc 2>/dev/null; echo abc", "ABC", 0},
		{"unended escape", `printf 'a\n\e]0;title'; printf '\n'; echo b`, "a\n\nb", 0},
		{"pager", "PATH=$PATH; $PAGER /dev/null; echo $GIT_PAGER", "cat", 0},
		{"window size", "stty size", "50 200", 0},
		{"tabs", `printf 'a\tb\n'`, "a\tb", 0},
		{"job control", "set -o | grep -w monitor | tr -d ' \\t'", "monitoron", 0},
		{"history off", "history | wc -l | tr -d ' '; echo \"[$HISTFILE]\"", "0\n[]", 0},
		{"no descriptor of the session", "readlink /proc/self/fd/{230,231,232} | uniq; ls -l /proc/self/fd | grep -c -e ' 23[3-9] ' -e ' 24[0-9] ' -e deft-shell", "/dev/null\n0", 1},
		{"prompt is not exported", "env | grep -c -e ^PS -e deft", "0", 1},
		{"continued line at the end", "echo a \\", "a \\", 0},
		{"heredoc in a substitution", "echo \"$(cat <<-'E O F'\n\tx )\n\tE O F\n)\"; a=(1\n2); echo $((1<<2)) ${a[1]}", "x )\n4 2", 0},
		{"uses descriptors", "exec 10>a 11>b 12>c 13>d 100>e 200>f 201>g 9>h", "", 0},
		{"jobs leave no trace", "jobs; declare -p | grep -c NONCE", "0", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil)
			b.want(b.run(tt.command), tt.want, tt.code)
			// Whatever it was, the shell goes on as before.
			b.want(b.run("echo next"), "next", 0)
		})
	}
}
