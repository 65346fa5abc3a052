package pty_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHost(t *testing.T, o pty.Options) *pty.Host {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Env == nil {
		o.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "PS1=$ "}
	}
	h := pty.New(o)
	t.Cleanup(func() { must.Report(t, h.Close()) })
	return h
}

func open(t *testing.T, h *pty.Host, s tool.PTYSpec) tool.PTY {
	t.Helper()
	p, err := h.OpenPTY(t.Context(), s)
	must.Succeed(t, err)
	return p
}

func sh(script string) tool.PTYSpec { return tool.PTYSpec{Argv: []string{"sh", "-c", script}} }

func attach(t *testing.T, h *pty.Host, id string, offset int64) tool.PTYConn {
	t.Helper()
	c, err := h.AttachPTY(t.Context(), id, offset)
	must.Succeed(t, err)
	return c
}

func write(t *testing.T, c tool.PTYConn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads until the output has a text, and returns all of it.
func readUntil(t *testing.T, c tool.PTYConn, want string) string {
	t.Helper()
	var got bytes.Buffer
	piece := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := c.Read(piece)
		got.Write(piece[:n])
		if err != nil && !strings.Contains(got.String(), want) {
			t.Fatalf("%v after %q, without %q", err, got.String(), want)
		}
	}
	return got.String()
}

func TestShell(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	p := open(t, h, tool.PTYSpec{Rows: 30, Cols: 100, Term: "vt100"})
	if p.Argv[0] != "/bin/sh" {
		t.Errorf("the shell is %q", p.Argv)
	}
	c := attach(t, h, p.ID, 0)
	write(t, c, "stty size; echo $TERM-term; tty >/dev/null && echo yes-$((1+1))\n")
	out := readUntil(t, c, "yes-2")
	for _, want := range []string{"30 100", "vt100-term"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
	must.Succeed(t, h.ResizePTY(t.Context(), p.ID, 40, 120))
	write(t, c, "stty size\n")
	readUntil(t, c, "40 120")
	write(t, c, "exit 7\n")
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if c.ExitCode() != 7 {
		t.Errorf("exit code %d", c.ExitCode())
	}
	list, err := h.ListPTYs(t.Context())
	if err != nil || len(list) != 1 || list[0].ExitCode == nil || *list[0].ExitCode != 7 || list[0].Rows != 40 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestResizeSignals notifies the program.
func TestResizeSignals(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	p := open(t, h, sh(`trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done`))
	c := attach(t, h, p.ID, 0)
	readUntil(t, c, "ready")
	must.Succeed(t, h.ResizePTY(t.Context(), p.ID, 11, 22))
	readUntil(t, c, "11 22")
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "kill -TERM $$": 143,
		// Background processes keep neither the terminal nor its end.
		"trap '' HUP; sleep 1000 & exit 5": 5,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, pty.Options{})
			p := open(t, h, sh("echo out;"+script))
			c := attach(t, h, p.ID, 0)
			out, err := io.ReadAll(c)
			if err != nil || string(out) != "out\r\n" || c.ExitCode() != want {
				t.Errorf("%q, %v, exit code %d, want %d", out, err, c.ExitCode(), want)
			}
		})
	}
}

// TestReattach gets the output of the meantime, from where the first client was.
func TestReattach(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	p := open(t, h, sh("echo one; read x; echo two-$x; read y; echo three-$y; read z"))
	c := attach(t, h, p.ID, 0)
	first := readUntil(t, c, "one\r\n")
	write(t, c, "a\n")
	must.Succeed(t, c.Close())
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection reads")
	}
	d := attach(t, h, p.ID, int64(len(first)))
	rest := readUntil(t, d, "two-a\r\n")
	if strings.Contains(rest, "one") {
		t.Errorf("output is repeated: %q", rest)
	}
	// The next client takes over from one whose connection was lost without notice.
	e := attach(t, h, p.ID, 0)
	if _, err := d.Read(make([]byte, 1)); !fault.Is(err, fault.Conflict) {
		t.Errorf("the old connection reads: %v", err)
	}
	if _, err := d.Write([]byte("lost\n")); !fault.Is(err, fault.Conflict) {
		t.Errorf("the old connection writes: %v", err)
	}
	write(t, e, "b\n")
	all := readUntil(t, e, "three-b\r\n")
	if !strings.HasPrefix(all, "one\r\n") || e.Offset() != 0 {
		t.Errorf("got %q from %d", all, e.Offset())
	}
}

// TestScrollback drops the oldest output of a terminal that nobody reads.
func TestScrollback(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{Scrollback: 1000})
	p := open(t, h, sh("seq 1 5000"))
	waitEnd(t, h, p.ID)
	c := attach(t, h, p.ID, 0)
	out, err := io.ReadAll(c)
	if err != nil || len(out) != 1000 || !strings.HasSuffix(string(out), "4999\r\n5000\r\n") {
		t.Errorf("%d bytes, %v: %q", len(out), err, out)
	}
	var total int64
	for i := 1; i <= 5000; i++ {
		total += int64(len(strconv.Itoa(i)) + 2)
	}
	if want := total - 1000; c.Offset() != want {
		t.Errorf("begins at %d, want %d", c.Offset(), want)
	}
}

func waitEnd(t *testing.T, h *pty.Host, id string) {
	t.Helper()
	waittest.Until(t, "the program ends", func() bool { // it has no event for those that are not connected
		list, err := h.ListPTYs(t.Context())
		must.Succeed(t, err)
		return slices.ContainsFunc(list, func(p tool.PTY) bool { return p.ID == id && p.ExitCode != nil })
	})
}

// TestBackPressure makes a flood wait for a client that does not read, and loses
// nothing of it.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	const lines = 300_000 // 2 MB
	dir := t.TempDir()
	h := newHost(t, pty.Options{Dir: dir, Scrollback: 64 << 10})
	p := open(t, h, sh("read x; sh -c 'echo $$ > flood; exec seq 1 "+strconv.Itoa(lines)+"'; echo written > done"))
	c := attach(t, h, p.ID, 0)
	write(t, c, "\n")
	readUntil(t, c, "\r\n1\r\n")
	flood, err := os.ReadFile(filepath.Join(dir, "flood"))
	must.Succeed(t, err)
	// Resizes get through, while the program is held up by output that nobody reads.
	waittest.Still(t, "the flood stands still", func() string {
		must.Succeed(t, h.ResizePTY(t.Context(), p.ID, 20, 20))
		written, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(flood)) + "/io") // nothing if it has ended
		return string(written)
	})
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		t.Fatal("the flood did not wait")
	}
	out, err := io.ReadAll(c)
	must.Succeed(t, err)
	if got := bytes.Count(out, []byte("\n")); got < lines-1000 || !bytes.HasSuffix(out, []byte("\n300000\r\n")) {
		t.Errorf("%d lines of the rest came", got)
	}
}

// TestFloodWithoutClient goes on while nobody is connected.
func TestFloodWithoutClient(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{Scrollback: 4096})
	p := open(t, h, sh("seq 1 300000; exit 9"))
	c := attach(t, h, p.ID, 0)
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // the program must not wait any more
		t.Fatal(err)
	}
	waitEnd(t, h, p.ID)
}

// TestInputNobodyReads blocks its writer only, which Close ends.
func TestInputNobodyReads(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	p := open(t, h, sh("stty raw -echo; echo ready; exec sleep 1000"))
	c := attach(t, h, p.ID, 0)
	readUntil(t, c, "ready")
	blocked := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Write(make([]byte, 64<<10)); err != nil {
				blocked <- err
				return
			}
		}
	}()
	must.Succeed(t, h.ResizePTY(t.Context(), p.ID, 5, 5))
	must.Succeed(t, h.ClosePTY(t.Context(), p.ID))
	if err := <-blocked; !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	s := sh("wc -c; echo a; echo b >&2")
	s.Plain = true
	p := open(t, h, s)
	c := attach(t, h, p.ID, 0)
	out, err := io.ReadAll(c)
	if err != nil || string(out) != "0\na\nb\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestClosePTY ends programs that ignore SIGHUP, and those in the background.
func TestClosePTY(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	p := open(t, h, sh(`trap '' HUP; sleep 1000 & echo pid $!; while :; do sleep 1; done`))
	c := attach(t, h, p.ID, 0)
	out := readUntil(t, c, "\r\n")
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out, "pid ")))
	must.Succeed(t, err)
	must.Succeed(t, h.ClosePTY(t.Context(), p.ID))
	if _, err := c.Read(make([]byte, 1)); !fault.Is(err, fault.NotFound) {
		t.Errorf("its client reads: %v", err)
	}
	if raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && !strings.Contains(string(raw), ") Z ") {
		t.Error("a process in the background is left: ", syscall.Kill(pid, 0))
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{Max: 2})
	first, second := open(t, h, sh("exec sleep 1000")), open(t, h, sh("read x"))
	_, err := h.OpenPTY(t.Context(), tool.PTYSpec{})
	if !fault.Is(err, fault.RateLimit) {
		t.Fatalf("a third one: %v", err)
	}
	c := attach(t, h, second.ID, 0)
	write(t, c, "\n")
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	third := open(t, h, sh("exec sleep 1000")) // in place of the one that has ended
	list, err := h.ListPTYs(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != third.ID {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	ctx := t.Context()
	p := open(t, h, sh("exec sleep 1000"))
	openErr := func(s tool.PTYSpec) error {
		_, err := h.OpenPTY(ctx, s)
		return err
	}
	attachErr := func(id string, offset int64) error {
		_, err := h.AttachPTY(ctx, id, offset)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"size 0":               {h.ResizePTY(ctx, p.ID, 0, 80), fault.Invalid},
		"negative size":        {h.ResizePTY(ctx, p.ID, 24, -1), fault.Invalid},
		"huge size":            {h.ResizePTY(ctx, p.ID, 24, 65536), fault.Invalid},
		"resize of an unknown": {h.ResizePTY(ctx, "none", 24, 80), fault.NotFound},
		"attach to an unknown": {attachErr("none", 0), fault.NotFound},
		"close of an unknown":  {h.ClosePTY(ctx, "none"), fault.NotFound},
		"offset in the future": {attachErr(p.ID, 1<<40), fault.Invalid},
		"negative offset":      {attachErr(p.ID, -1), fault.Invalid},
		"open with a size":     {openErr(tool.PTYSpec{Rows: 24}), fault.Invalid},
		"unknown program":      {openErr(tool.PTYSpec{Argv: []string{"no-such-program"}}), fault.NotFound},
		"unknown path":         {openErr(tool.PTYSpec{Argv: []string{"/no/such/program"}}), fault.NotFound},
		"a directory":          {openErr(tool.PTYSpec{Argv: []string{"/usr"}}), fault.Denied},
		"an empty name":        {openErr(tool.PTYSpec{Argv: []string{""}}), fault.Invalid},
		"unknown directory":    {openErr(tool.PTYSpec{Dir: "/no/such/directory"}), fault.NotFound},
	} {
		if !fault.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %s", name, c.err, c.want)
		}
	}
	must.Succeed(t, h.Close())
	if err := openErr(tool.PTYSpec{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("open after Close: %v", err)
	}
}

// TestSeveral keeps terminals apart.
func TestSeveral(t *testing.T) {
	t.Parallel()
	h := newHost(t, pty.Options{})
	conns := map[string]tool.PTYConn{}
	for i := range 5 {
		p := open(t, h, sh("read x; echo $x-done"))
		c := attach(t, h, p.ID, 0)
		conns[strconv.Itoa(i)] = c
	}
	for name, c := range conns {
		write(t, c, name+"\n")
	}
	for name, c := range conns {
		out, err := io.ReadAll(c)
		if err != nil || !strings.HasSuffix(string(out), "\n"+name+"-done\r\n") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if _, err := conns["0"].Write([]byte("late")); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("input after the end: %v", err)
	}
}
