package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// TestShellCommand types into a shell in the sandbox, changes the window's size, and
// leaves with an exit code.
func TestShellCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine"}}]}}
`)
	b.run(t, 0, "run", "-q", "speak")
	cmd := b.command(t, "shell")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 33, Cols: 99})
	must.Succeed(t, err)
	p := follow(cmd, tty)
	say := func(text string) {
		t.Helper()
		if _, err := tty.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	say("stty size; echo dir-$PWD\n")
	p.until(t, "33 99")
	p.until(t, "dir-"+b.ws)
	// The program in the sandbox is told, and Ctrl-C is for it alone.
	say("sh -c 'trap \"stty size; exit 5\" WINCH; echo wait''ing; while :; do sleep 0.1; done'\n")
	p.until(t, "waiting")
	must.Succeed(t, pty.Setsize(tty, &pty.Winsize{Rows: 44, Cols: 111}))
	p.until(t, "44 111")
	// The program itself says that it runs: until then the shell may lose a signal.
	say("sh -c 'echo slee\"\"ping; exec sleep 1000'\n")
	p.until(t, "sleeping")
	say("\x03")
	p.until(t, "^C")
	say("echo still-$((40+2)); exit 9\n")
	code, out := p.wait(t)
	if code != 9 || !strings.Contains(out, "still-42") {
		t.Errorf("exit code %d:\n%q", code, out)
	}
}

// TestShellEnds ends the program in the sandbox with deft shell: when the terminal is closed, and by
// other signals.
func TestShellEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine"}}]}}
`)
	b.run(t, 0, "run", "-q", "speak")
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		name := filepath.Join(b.ws, "of-"+strconv.Itoa(int(sig)))
		cmd := b.command(t, "shell", "--", "sh", "-c", "exec 9>"+name+"; flock 9; echo he''ld; exec sleep 1000")
		tty, err := pty.Start(cmd)
		must.Succeed(t, err)
		p := follow(cmd, tty)
		p.until(t, "held")
		p.signal(t, sig)
		if code, out := p.wait(t); code != 130 {
			t.Errorf("%v: exit code %d:\n%s", sig, code, out)
		}
		held, err := os.Open(name)
		must.Succeed(t, err)
		waittest.Until(t, "the program has ended", func() bool { return syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil })
		must.Succeed(t, held.Close())
	}
}

// TestShellBesideRun opens a shell while another process runs the conversation.
func TestShellBesideRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "touch began; while [ ! -e go ]; do sleep 0.05; done; echo went"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine"}}]}}
`)
	cmd := b.command(t, "run", "wait for me")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	waittest.Until(t, "the command runs", func() bool { // its output is shown when it has ended
		_, err := os.Stat(filepath.Join(b.ws, "began"))
		return err == nil
	})
	if out := b.run(t, 3, "shell", "--", "sh", "-c", "ls began; echo in-$((1+1)); exit 3"); !strings.Contains(out, "began") || !strings.Contains(out, "in-2") {
		t.Errorf("the shell wrote %q", out)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, "go"), nil, 0o600)) // not in the shell: the sandbox ends with the run
	if code, out := p.wait(t); code != 0 || !strings.Contains(out, "went") {
		t.Errorf("the run: exit code %d:\n%s", code, out)
	}
}

// TestShellBesideServer opens a terminal of a page, and a shell in the same sandbox.
func TestShellBesideServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine"}}]}}
`)
	b.run(t, 0, "run", "-q", "speak")
	var listed struct{ ID string }
	must.Succeed(t, json.Unmarshal([]byte(b.run(t, 0, "conversations", "list", "--json")), &listed))
	s := b.serve(t)
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/sockets/terminal/"+listed.ID, nil)
	must.Succeed(t, err)
	defer ws.CloseNow()
	must.Succeed(t, ws.Write(t.Context(), websocket.MessageBinary, []byte("umask 022; echo of-the-page > /tmp/page; echo written-$((1+1))\n")))
	for text := ""; !strings.Contains(text, "written-2"); {
		_, piece, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += string(piece)
	}
	if out := b.run(t, 0, "shell", "--", "cat", "/tmp/page"); !strings.Contains(out, "of-the-page") {
		t.Errorf("the shell is in another sandbox: %q", out)
	}
	s.stop(t)
}
