package program_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes an executable file.
func script(t *testing.T, file, text string) string {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Succeed(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return file
}

// output starts a program, reads its output and closes it.
func output(t *testing.T, s tool.Starter, p tool.Program) string {
	t.Helper()
	proc, err := s.StartProgram(t.Context(), p)
	must.Succeed(t, err)
	got, err := io.ReadAll(proc)
	must.Report(t, err)
	must.Report(t, proc.Close())
	return string(got)
}

// TestPlantedFiles starts programs by name where a workspace holds one of the
// same name, and PATH leads there in several ways.
func TestPlantedFiles(t *testing.T) {
	t.Parallel()
	workspace, tools := t.TempDir(), t.TempDir()
	script(t, filepath.Join(workspace, "node_modules/.bin/server"), "echo planted")
	script(t, filepath.Join(tools, "server"), `echo real; pwd; ls -A; ls -ld .; echo "$TOKEN"; echo "$PATH"`)
	link := filepath.Join(t.TempDir(), "link")
	must.Succeed(t, os.Symlink(filepath.Join(workspace, "node_modules/.bin"), link))
	bin := filepath.Join(workspace, "node_modules/.bin")
	s := program.New(program.Options{
		Env:       []string{"PATH=" + strings.Join([]string{"", ".", "node_modules/.bin", bin, link, tools, "/usr/bin", "/bin"}, ":")},
		Untrusted: []string{workspace},
	})
	lines := strings.Split(output(t, s, tool.Program{Command: "server", Env: map[string]string{"TOKEN": "t0ken"}}), "\n")
	if len(lines) != 6 || lines[0] != "real" || !strings.HasPrefix(lines[2], "drwx------") || lines[3] != "t0ken" {
		t.Fatalf("got %q", lines)
	}
	if want := tools + ":/usr/bin:/bin"; lines[4] != want {
		t.Errorf("PATH of the program is %s, want %s", lines[4], want)
	}
	if _, err := os.Stat(lines[1]); !os.IsNotExist(err) || filepath.Dir(lines[1]) == workspace {
		t.Errorf("the program's own directory %s is left: %v", lines[1], err)
	}
	// Inside a sandbox the workspace is the place to work.
	inside := program.New(program.Options{Env: []string{"PATH=" + tools + ":/usr/bin:/bin"}, Dir: workspace})
	if got := output(t, inside, tool.Program{Command: "node_modules/.bin/server"}); got != "planted\n" {
		t.Errorf("a command of the workspace in a sandbox: %q", got)
	}
	if got := output(t, inside, tool.Program{Command: "server"}); !strings.HasPrefix(got, "real\n"+workspace+"\nnode_modules\n") {
		t.Errorf("a program in a sandbox: %q", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script(t, filepath.Join(dir, "server"), "exit")
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
	s := program.New(program.Options{Env: []string{"PATH=" + dir}})
	for _, tt := range []struct {
		program tool.Program
		kind    fault.Kind
	}{
		{tool.Program{Command: "nothing"}, fault.NotFound},
		{tool.Program{Command: "/no/such/file"}, fault.NotFound},
		{tool.Program{Command: "data"}, fault.Denied},
		{tool.Program{Command: filepath.Join(dir, "data")}, fault.Denied},
		{tool.Program{Command: "./server"}, fault.Invalid},
		{tool.Program{Command: "server", Dir: "sub"}, fault.Invalid},
		{tool.Program{Command: "server", Dir: "/no/such/dir"}, fault.NotFound},
	} {
		p, err := s.StartProgram(t.Context(), tt.program)
		if !fault.Is(err, tt.kind) {
			t.Errorf("%s in %q: error %v, want kind %s", tt.program.Command, tt.program.Dir, err, tt.kind)
		}
		if err == nil {
			p.Close()
		}
	}
	// The directories of PATH tell a stranger about the machine, and its user nothing to do.
	for where, o := range map[string]program.Options{"on the machine of Deft": {}, "in the sandbox": {Dir: dir}} {
		o.Env = []string{"PATH=" + dir + ":/usr/bin"}
		_, err := program.New(o).StartProgram(t.Context(), tool.Program{Command: "nothing"})
		if want := `there is no program "nothing" in PATH: install it ` + where + `, or give its absolute path`; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v", tool.Program{Command: "x", Env: map[string]string{"A": "s3cret"}}, tool.Program{Env: map[string]string{"A": "s3cret"}}, tool.Program{Env: map[string]string{"A": "s3cret"}}); strings.Contains(shown, "s3cret") {
		t.Errorf("formatted: %s", shown)
	}
}

// TestEnd talks to a program, and ends one that does not end by itself, with its
// children.
func TestEnd(t *testing.T) {
	t.Parallel()
	s := program.New(program.Options{Env: program.HostEnv()})
	must.Report(t, startAndClose(t, s, tool.Program{Command: "sh", Args: []string{"-c", "read x; echo got $x; echo why >&2"}}, "got hi\n", "why\n"))
	stubborn := `trap "" TERM; sleep 1000 & echo ready; while :; do wait; done`
	must.Report(t, startAndClose(t, s, tool.Program{Command: "sh", Args: []string{"-c", stubborn}}, "ready\n", ""))
}

func startAndClose(t *testing.T, s tool.Starter, p tool.Program, out, stderr string) error {
	t.Helper()
	proc, err := s.StartProgram(t.Context(), p)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(proc, "hi\n"); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(out))
	if _, err := io.ReadFull(proc, got); err != nil || string(got) != out {
		t.Errorf("output %q, %v", got, err)
	}
	err = proc.Close()
	if n, err := proc.Read(got); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes after the end: %v", n, err)
	}
	if got := proc.Stderr(); got != stderr {
		t.Errorf("stderr %q, want %q", got, stderr)
	}
	return err
}
