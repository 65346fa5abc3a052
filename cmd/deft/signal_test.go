package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// bench is the start of a test of a whole process.
type bench struct {
	ws, home string
	env      []string // of deft, beside its usual ones
	llm      *llmtest.Server
}

func newBench(t *testing.T, turns string) *bench {
	t.Helper()
	script, err := llmtest.Parse([]byte("turns:\n" + turns))
	must.Succeed(t, err)
	b := &bench{ws: filepath.Join(t.TempDir(), "workspace"), home: t.TempDir(), llm: llmtest.Start(t, script)}
	must.Succeed(t, os.Mkdir(b.ws, 0o700))
	t.Cleanup(func() { stopServers(b.ws) })
	return b
}

// command is a deft process: the test binary under another name.
func (b *bench) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must.Succeed(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = "deft"
	cmd.Dir = b.ws
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "TERM=xterm",
		"LLM_MODEL=openai/scripted", "LLM_BASE_URL=" + b.llm.URL + "/v1", "LLM_API_KEY=k",
	}
	cmd.Env = append(cmd.Env, b.env...)
	return cmd
}

// running is a deft process whose progress can be waited for.
type running struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	cond *sync.Cond
	text strings.Builder
	end  bool
}

func (b *bench) start(t *testing.T, args ...string) *running {
	t.Helper()
	cmd := b.command(t, args...)
	r, w, err := os.Pipe()
	must.Succeed(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	must.Succeed(t, cmd.Start())
	w.Close()
	return follow(cmd, r)
}

func follow(cmd *exec.Cmd, from io.ReadCloser) *running {
	p := &running{cmd: cmd, done: make(chan struct{})}
	p.cond = sync.NewCond(&p.mu)
	go func() {
		defer close(p.done)
		defer from.Close()
		in := bufio.NewReader(from)
		for {
			c, err := in.ReadByte()
			p.mu.Lock()
			if err != nil { // a terminal without its process gives EIO
				p.end = true
			} else {
				p.text.WriteByte(c)
			}
			p.cond.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

// until waits for a text in the output.
func (p *running) until(t *testing.T, text string) {
	t.Helper()
	p.untilTimes(t, text, 1)
}

// untilTimes waits until a text is in the output n times.
func (p *running) untilTimes(t *testing.T, text string, n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for strings.Count(p.text.String(), text) < n {
		if p.end {
			t.Fatalf("the process ended without %q:\n%s", text, p.text.String())
		}
		p.cond.Wait()
	}
}

// wait returns the exit code and the whole output.
func (p *running) wait(t *testing.T) (int, string) {
	t.Helper()
	err := p.cmd.Wait()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		t.Fatal(err)
	}
	<-p.done
	return p.cmd.ProcessState.ExitCode(), p.text.String()
}

func (p *running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	must.Succeed(t, p.cmd.Process.Signal(s))
}

// run runs a deft process to its end.
func (b *bench) run(t *testing.T, want int, args ...string) string {
	t.Helper()
	code, out := b.start(t, args...).wait(t)
	if code != want {
		t.Fatalf("deft %s: exit code %d, want %d:\n%s", strings.Join(args, " "), code, want, out)
	}
	return out
}

// stopServers ends the action servers whose workspace lies in dir: servers of
// paused conversations would live for their grace time.
func stopServers(dir string) {
	for _, pid := range processes("\x00action-server\x00--workspace\x00" + dir) {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended meanwhile
	}
}

// processes returns the ids of all processes with text in their command line,
// whose words end with NUL.
func processes(text string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(b), text) {
			continue
		}
		pid := 0
		for _, c := range filepath.Base(filepath.Dir(f)) {
			pid = 10*pid + int(c-'0')
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone waits for the end of processes.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		must.Succeed(t, err)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				t.Errorf("process %d does not end: %v", pid, err)
			}
			break
		}
		unix.Close(fd)
	}
}

const hangThenFinish = `
  - {fault: hang}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "went on"}}]}}
`

// activateSignals makes programs that this process starts handle the signals that stop
// deft, also those that the process ignores, as under nohup or in the background of a
// script: children inherit that a signal is ignored, but not that it is caught.
func activateSignals() {
	for _, sig := range stopping {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// stopping are the signals that stop deft.
var stopping = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

func TestPauseDuringCall(t *testing.T) {
	t.Parallel()
	for _, sig := range stopping {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, hangThenFinish)
			p := b.start(t, "run", "wait for me")
			if _, err := b.llm.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			p.signal(t, sig)
			code, out := p.wait(t)
			if code != 130 || !strings.Contains(out, "to go on: deft run --resume ") {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			servers := processes(b.ws)
			if len(servers) == 0 {
				t.Error("the sandbox did not wait for a resume")
			}
			if out := b.run(t, 0, "run", "--resume", "last"); !strings.Contains(out, "went on") {
				t.Errorf("no answer after the resume:\n%s", out)
			}
			gone(t, servers)
			if left := processes(b.ws); len(left) > 0 {
				t.Errorf("processes %v are left after the end", left)
			}
		})
	}
}

// TestClosedTerminal closes the terminal while a command runs, which sends SIGHUP, and sends more:
// the command ends by itself, and the conversation is paused.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo begun; until [ -e go ]; do sleep 0.02; done; touch ended"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "went on"}}]}}
`)
	cmd := b.command(t, "run", "wait for me")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	p.until(t, "2mbegun") // in its colour, not in the command
	for range 3 {
		p.signal(t, syscall.SIGHUP)
	}
	tty.Close()
	for range 2 {
		p.signal(t, syscall.SIGHUP)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, "go"), nil, 0o600))
	if code, out := p.wait(t); code != 130 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(b.ws, "ended")); err != nil {
		t.Error("the command was stopped:", err)
	}
	if out := b.run(t, 0, "run", "--resume", "last"); !strings.Contains(out, "went on") {
		t.Errorf("no answer after the resume:\n%s", out)
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for _, grace := range []string{"0", "1s"} {
		t.Run(grace, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "\n  - {reply: {tool_calls: [{name: terminal, arguments: {command: \"true\"}}]}}"+hangThenFinish)
			p := b.start(t, "run", "--grace", grace, "wait for me")
			// After the first command the sandbox is there for sure.
			if _, err := b.llm.Wait(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			servers := processes(b.ws)
			if len(servers) == 0 {
				t.Fatal("no sandbox runs")
			}
			p.signal(t, os.Interrupt)
			if code, out := p.wait(t); code != 130 {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			gone(t, servers)
			b.run(t, 0, "run", "--resume", "last")
		})
	}
}

const longCommand = `
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo started; sleep 98761"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "went on"}}]}}
`

func TestSecondSignalStopsCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.ReplaceAll(longCommand, "98761", "98762"))
	p := b.start(t, "run", "take long")
	p.until(t, "  started")
	var sleeps []int
	waittest.Until(t, "the command runs", func() bool { // it begins after the text
		sleeps = processes("sleep\x0098762\x00")
		return len(sleeps) > 0
	})
	p.signal(t, os.Interrupt)
	p.until(t, "pausing")
	p.signal(t, os.Interrupt)
	if code, out := p.wait(t); code != 130 || !strings.Contains(out, "to go on") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	gone(t, sleeps)
	b.run(t, 0, "run", "--resume", "last")
}

func TestThirdSignalLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t, hangThenFinish)
	p := b.start(t, "run", "wait for me")
	if _, err := b.llm.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for range 3 { // however many of them it takes
		p.signal(t, os.Interrupt)
	}
	if code, out := p.wait(t); code != 130 || !strings.Contains(out, "to go on: deft run --resume ") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	b.run(t, 0, "run", "--resume", "last")
}

// A process that was killed leaves its command running; the next one joins it.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo started; echo once >> log; while [ ! -e go ]; do sleep 0.01; done; cat log"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "{{.LastToolResult}}"}}]}}
`)
	p := b.start(t, "run", "append")
	p.until(t, "  started")
	p.signal(t, os.Kill)
	p.wait(t)
	for args, want := range map[string]bool{"": true, "--status=interrupted": true, "--status=running": false} {
		if out := b.run(t, 0, strings.Fields("conversations list "+args)...); strings.Contains(out, " interrupted ") != want || strings.Contains(out, " running ") {
			t.Errorf("list %s after a kill:\n%s", args, out)
		}
	}
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, "go"), nil, 0o600))
	b.run(t, 0, "run", "--resume", "last")
	log, err := os.ReadFile(filepath.Join(b.ws, "log"))
	if err != nil || string(log) != "once\n" {
		t.Errorf("log is %q, %v", log, err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	b := newBench(t, hangThenFinish)
	p := b.start(t, "run", "wait for me")
	if _, err := b.llm.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", "--resume", "last"}, {"conversations", "delete", "--yes", "last"}} {
		if out := b.run(t, 2, args...); !strings.Contains(out, "is running in another process") {
			t.Errorf("%v: %s", args, out)
		}
	}
	p.signal(t, os.Interrupt)
	if code, out := p.wait(t); code != 130 {
		t.Errorf("exit code %d after the signal:\n%s", code, out)
	}
	b.run(t, 0, "conversations", "delete", "--yes", "last")
	if left := processes(b.ws); len(left) > 0 {
		t.Errorf("processes %v are left after the conversation was deleted", left)
	}
}

// TestSecondRun starts a run where another one works: the user is told which one, and
// how to keep apart. It runs all the same.
func TestSecondRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, hangThenFinish+`
  - {reply: {tool_calls: [{name: finish, arguments: {message: "done"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "below"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "alone"}}]}}
`)
	p := b.start(t, "run", "wait for me")
	p.until(t, "> wait for me") // is stored
	if _, err := b.llm.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	list := b.run(t, 0, "conversations", "list", "--status", "running")
	id, _, _ := strings.Cut(list, " ")
	if want := " running "; !strings.Contains(list, want) || !strings.Contains(list, b.ws) || !strings.Contains(list, "openai/scripted") {
		t.Errorf("the list lacks the status, the directory or the model:\n%s", list)
	}
	must.Succeed(t, os.Mkdir(filepath.Join(b.ws, "below"), 0o700))
	out := b.run(t, 0, "run", "--workspace", "below", "me too")
	if !strings.Contains(out, `conversation `+id+` ("wait for me") works in `+b.ws+` too`) || !strings.Contains(out, "deft conversations show --follow "+id) {
		t.Errorf("the second run was not told about the first, %s:\n%s", id, out)
	}
	if strings.Contains(out, "worktree") {
		t.Errorf("a worktree was offered where there is no repository:\n%s", out)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", b.ws).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "git -C " + b.ws + " worktree add " + b.ws + "-2 && deft run --workspace " + b.ws + "-2"
	if out := b.run(t, 0, "run", "and me"); !strings.Contains(out, want) {
		t.Errorf("no worktree was offered in a repository, want %q:\n%s", want, out)
	}
	if err := os.Mkdir(b.ws+"-2", 0o700); err != nil { // of an earlier time
		t.Fatal(err)
	}
	want = "git -C " + b.ws + " worktree add " + b.ws + "-3 && deft run --workspace " + b.ws + "-3/below"
	if out := b.run(t, 0, "run", "--workspace", "below", "me again"); !strings.Contains(out, want) {
		t.Errorf("the worktree that is offered below a repository's top is not %q:\n%s", want, out)
	}
	p.signal(t, os.Interrupt)
	if code, out := p.wait(t); code != 130 {
		t.Errorf("exit code %d after the signal:\n%s", code, out)
	}
	if out := b.run(t, 0, "run", "--resume", id); strings.Contains(out, "works in") {
		t.Errorf("a run that is alone was told about another one:\n%s", out)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env             string
		colors, erasing bool
	}{
		"colours":  {"TERM=xterm", true, true},
		"no color": {"NO_COLOR=1", false, true},
		"dumb":     {"TERM=dumb", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, hangThenFinish)
			cmd := b.command(t, "run", "wait for me")
			cmd.Env = append(cmd.Env, c.env)
			tty, err := pty.Start(cmd)
			must.Succeed(t, err)
			p := follow(cmd, tty)
			if _, err := b.llm.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			p.until(t, "wait for me")
			if c.erasing {
				p.until(t, "thinking…")
			}
			if _, err := tty.Write([]byte{3}); err != nil { // Ctrl-C
				t.Fatal(err)
			}
			code, out := p.wait(t)
			if code != 130 || !strings.Contains(out, "pausing") || !strings.Contains(out, "to go on: deft run --resume ") {
				t.Errorf("exit code %d:\n%q", code, out)
			}
			if got := strings.Contains(out, "\x1b[1m"); got != c.colors {
				t.Errorf("colours: %v, want %v:\n%q", got, c.colors, out)
			}
			if got := strings.Contains(out, "\x1b[K"); got != c.erasing {
				t.Errorf("status line: %v, want %v:\n%q", got, c.erasing, out)
			}
			if strings.Count(out, "thinking…") > strings.Count(out, "\x1b[K") {
				t.Errorf("a status line stayed:\n%q", out)
			}
		})
	}
}

// The model's text must not steer the user's terminal.
func TestQuietTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine\e]0;owned\a"}}]}}
`)
	cmd := b.command(t, "run", "-q", "speak")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	code, out := follow(cmd, tty).wait(t)
	if code != 0 || !strings.Contains(out, "fine") || strings.ContainsAny(out, "\x1b\a") {
		t.Errorf("exit code %d: %q", code, out)
	}
}
