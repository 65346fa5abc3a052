package actionserver_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/program"
)

// starting returns a client of a server that starts programs in dir.
func starting(t *testing.T, dir string) (*remote.Runtime, *served) {
	t.Helper()
	s := serveWith(t, actionserver.Options{Programs: program.New(program.Options{Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir})})
	return connect(t, s), s
}

func shell(text string) tool.Program { return tool.Program{Command: "sh", Args: []string{"-c", text}} }

func startProgram(t *testing.T, rt *remote.Runtime, p tool.Program) tool.Process {
	t.Helper()
	proc, err := rt.StartProgram(t.Context(), p)
	must.Succeed(t, err)
	t.Cleanup(func() { proc.Close() })
	return proc
}

// TestProgramStreams sends 32 MB through a program, in both directions at once and
// more than any buffer on the way holds.
func TestProgramStreams(t *testing.T) {
	t.Parallel()
	rt, _ := starting(t, t.TempDir())
	proc := startProgram(t, rt, tool.Program{Command: "cat"})
	const size = 32 << 20
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	wrote := make(chan error, 1)
	sent := sha256.New()
	go func() {
		for n := 0; n < size; n += len(piece) {
			sent.Write(piece)
			if _, err := proc.Write(piece); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	got := sha256.New()
	if _, err := io.CopyN(got, proc, size); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, <-wrote)
	if !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		t.Error("what came back is not what was sent")
	}
	must.Report(t, proc.Close())
}

// TestProgramEnds has programs that end by themselves, when their input ends, only
// when they are killed, and one whose output nobody reads.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rt, _ := starting(t, dir)
	proc := startProgram(t, rt, tool.Program{
		Command: "sh", Args: []string{"-c", "pwd; echo $TOKEN; echo broken $TOKEN >&2; exit 3"}, Env: map[string]string{"TOKEN": "t0ken"},
	})
	out, err := io.ReadAll(proc)
	if err != nil || string(out) != dir+"\nt0ken\n" {
		t.Errorf("output %q, %v", out, err)
	}
	must.Report(t, proc.Close())
	if got := proc.Stderr(); got != "broken t0ken\n" {
		t.Errorf("stderr %q", got)
	}
	for name, text := range map[string]string{
		"by its input": `echo $$; cat; echo over >&2`,
		"stubborn":     `trap "" TERM; echo $$; echo over >&2; while :; do sleep 1000; done`,
		"unread":       `echo $$; echo over >&2; yes`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := startProgram(t, rt, shell(text))
			pid, err := bufio.NewReaderSize(proc, 16).ReadString('\n')
			must.Succeed(t, err)
			must.Report(t, proc.Close())
			if got := proc.Stderr(); got != "over\n" {
				t.Errorf("stderr %q", got)
			}
			gone(t, pid)
		})
	}
}

// gone checks that a process does not run.
func gone(t *testing.T, pid string) {
	t.Helper()
	if raw, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "cmdline")); err == nil && len(raw) > 0 {
		t.Errorf("process %s still runs: %q", strings.TrimSpace(pid), raw)
	}
}

// TestProgramEndsWithItsConnection disconnects while a program does not read its
// input, and ends a server with a program.
func TestProgramEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(rt *remote.Runtime, s *served, p tool.Process){
		"client closes while it writes": func(_ *remote.Runtime, _ *served, p tool.Process) {
			blocked := make(chan error, 1)
			go func() {
				for {
					if _, err := p.Write(make([]byte, 1<<20)); err != nil {
						blocked <- err
						return
					}
				}
			}()
			p.Close()
			<-blocked
		},
		"server ends": func(_ *remote.Runtime, s *served, p tool.Process) {
			s.stop()
			<-s.ended
			p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, s := starting(t, t.TempDir())
			proc := startProgram(t, rt, shell(`echo $$; exec sleep 1000`))
			pid, err := bufio.NewReaderSize(proc, 16).ReadString('\n')
			must.Succeed(t, err)
			end(rt, s, proc)
			if _, err := io.ReadAll(proc); err != nil {
				t.Errorf("read after the end: %v", err)
			}
			if err := rt.Shutdown(t.Context()); err == nil {
				<-s.ended // it has waited for its programs
			} else if !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
			gone(t, pid)
		})
	}
}

// TestStopDoesNotWait ends a server while a client does not read a program's output,
// and a program not its input.
func TestStopDoesNotWait(t *testing.T) {
	t.Parallel()
	rt, s := starting(t, t.TempDir())
	unread := startProgram(t, rt, shell(`echo begun; exec yes`))
	deaf := startProgram(t, rt, shell(`echo begun; exec sleep 1000`))
	for _, p := range []tool.Process{unread, deaf} {
		if _, err := io.ReadFull(p, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
	}
	blocked := make(chan struct{})
	go func() {
		defer close(blocked)
		for {
			if _, err := deaf.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}()
	s.stop()
	<-s.ended // a server that waits for its programs never ends
	unread.Close()
	deaf.Close()
	<-blocked
}

func TestProgramRefused(t *testing.T) {
	t.Parallel()
	rt, _ := starting(t, t.TempDir())
	none := connect(t, serveWith(t, actionserver.Options{}))
	for _, tt := range []struct {
		rt      *remote.Runtime
		program tool.Program
		kind    fault.Kind
	}{
		{rt, tool.Program{Command: "no-such-program"}, fault.NotFound},
		{rt, tool.Program{}, fault.Invalid},
		{none, tool.Program{Command: "cat"}, fault.Unsupported},
	} {
		p, err := tt.rt.StartProgram(t.Context(), tt.program)
		if !fault.Is(err, tt.kind) {
			t.Errorf("%v: error %v, want kind %s", tt.program, err, tt.kind)
		}
		if err == nil {
			p.Close()
		}
	}
	closed, _ := starting(t, t.TempDir())
	closed.Close()
	if _, err := closed.StartProgram(t.Context(), tool.Program{Command: "cat"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("error %v of a closed runtime", err)
	}
}

// TestProgramOutlivesClose: a program has a connection of its own.
func TestProgramOutlivesClose(t *testing.T) {
	t.Parallel()
	rt, _ := starting(t, t.TempDir())
	proc := startProgram(t, rt, tool.Program{Command: "cat"})
	must.Succeed(t, rt.Close())
	if _, err := io.WriteString(proc, "still\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(proc).ReadString('\n'); err != nil || line != "still\n" {
		t.Errorf("read %q, %v", line, err)
	}
	must.Report(t, errors.Join(proc.Close(), proc.Close()))
}
