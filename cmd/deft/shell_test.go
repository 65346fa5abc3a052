package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/creack/pty"

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 44, Cols: 111}); err != nil {
		t.Fatal(err)
	}
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

// TestShellBesideRun opens a shell while another process runs the conversation.
func TestShellBesideRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "touch began; while [ ! -e go ]; do sleep 0.05; done; echo went"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "fine"}}]}}
`)
	cmd := b.command(t, "run", "wait for me")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p := follow(cmd, tty)
	waittest.Until(t, "the command runs", func() bool { // its output is shown when it has ended
		_, err := os.Stat(filepath.Join(b.ws, "began"))
		return err == nil
	})
	if out := b.run(t, 3, "shell", "--", "sh", "-c", "touch go; echo in-$((1+1)); exit 3"); !strings.Contains(out, "in-2") {
		t.Errorf("the shell wrote %q", out)
	}
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
	if err := json.Unmarshal([]byte(b.run(t, 0, "conversations", "list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	s := b.serve(t)
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/sockets/terminal/"+listed.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte("umask 022; echo of-the-page > /tmp/page; echo written-$((1+1))\n")); err != nil {
		t.Fatal(err)
	}
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
