package ports

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// machine is a directory of programs, for scripts to find nothing else.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) machine {
	m := machine{t, t.TempDir()}
	for _, name := range []string{"cat", "id", "mkdir", "mkfifo", "rm", "sed", "setsid", "tail"} {
		path, err := exec.LookPath(name)
		must.Succeed(t, err)
		must.Succeed(t, os.Symlink(path, m.path(name)))
	}
	return m
}

func (m machine) path(name string) string { return filepath.Join(m.dir, name) }

// install makes a program of a shell script.
func (m machine) install(name, script string) {
	m.t.Helper()
	must.Succeed(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o700))
	must.Succeed(m.t, os.WriteFile(m.path(name), []byte("#!/bin/sh\n"+script), 0o700))
}

func (m machine) run(script, dir string, env ...string) (stdout, stderr string) {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(m.t.Context(), "/bin/sh", "-c", script, dir)
	cmd.Env = append([]string{"PATH=" + m.dir, "TMPDIR=" + m.dir}, env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); (err != nil) != (script == startEditor && out.Len() == 0) {
		m.t.Fatalf("%v, it has printed %q and %q", err, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String()), strings.TrimSpace(errs.String())
}

// TestEditorScripts runs the scripts with programs that print their arguments.
func TestEditorScripts(t *testing.T) {
	t.Parallel()
	// says is a program that prints its arguments and its directory, and then where it listens.
	const says = `echo starting "$@" in "$PWD" >"$0.args"; echo "a line before"; echo "[10:00] listening on http://127.0.0.1:8123/"; echo "a line behind"`
	tests := []struct {
		name     string
		programs map[string]string
		env      string
		found    string // the program
		args     string // of a start
		fails    string // why it does not start
	}{
		{name: "none"},
		{
			name: "code-server", programs: map[string]string{"code-server": says}, found: "code-server",
			args: "--bind-addr 127.0.0.1:0 --auth none --disable-telemetry --disable-update-check",
		},
		{
			name: "openvscode-server in the PATH", programs: map[string]string{"openvscode-server": says, "code-server": "exit 1"}, found: "openvscode-server",
			args: "--host 127.0.0.1 --port 0 --without-connection-token --telemetry-level off",
		},
		{
			name: "openvscode-server of an image", programs: map[string]string{"root/bin/openvscode-server": says, "openvscode-server": "exit 1"}, env: "root", found: "openvscode-server",
			args: "--host 127.0.0.1 --port 0 --without-connection-token --telemetry-level off",
		},
		{name: "broken", programs: map[string]string{"code-server": "echo it lacks a library >&2; exit 2"}, found: "code-server", fails: "it lacks a library"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, workspace := newMachine(t), t.TempDir()
			for name, script := range test.programs {
				m.install(name, script)
			}
			var env []string
			if test.env != "" {
				env = []string{"OPENVSCODE_SERVER_ROOT=" + m.path(test.env)}
			}
			if got, _ := m.run(lookForEditor, workspace, env...); got != test.found {
				t.Errorf("before a start: %q, want %q", got, test.found)
			}
			port, stderr := m.run(startEditor, workspace, env...)
			if test.args == "" {
				if port != "" || stderr != test.fails {
					t.Errorf("started at %q: %q, want %q", port, stderr, test.fails)
				}
				return
			}
			if port != "8123" {
				t.Errorf("the port %q, %q", port, stderr)
			}
			started := m.path(test.found)
			if test.env != "" {
				started = filepath.Join(m.path(test.env), "bin", test.found)
			}
			if raw, err := os.ReadFile(started + ".args"); string(raw) != "starting "+test.args+" in "+workspace+"\n" {
				t.Errorf("%q, %v", raw, err)
			}
			if got, _ := m.run(lookForEditor, workspace, env...); got != test.found+"\n8123" {
				t.Errorf("after a start: %q", got)
			}
		})
	}
}
