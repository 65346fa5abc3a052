package postgrestest

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Server is a PostgreSQL server of a test's own, which the test can restart. It waits for
// the disk (fsync=on).
type Server struct {
	bin, dir string
	as       *syscall.SysProcAttr
}

// Start starts a server. It is stopped when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	must.Succeed(t, err)
	if len(found) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("PostgreSQL is not installed")
		}
		t.Skip("PostgreSQL is not installed")
	}
	s := &Server{bin: filepath.Dir(slices.Max(found))}
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { //nolint:usetesting // the server's user cannot reach files in t.TempDir
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if os.Getuid() == 0 { // as whom it refuses to run
		s.dropPrivileges(t)
	}
	s.run(t, "initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
	s.run(t, "pg_ctl", "-D", s.data(), "-w", "-l", filepath.Join(s.dir, "log"), "-o", "-k "+s.dir+" -c listen_addresses= -c max_connections=50", "start")
	t.Cleanup(func() { s.run(t, "pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop") })
	return s
}

func (s *Server) dropPrivileges(t testing.TB) {
	t.Helper()
	u, err := user.Lookup("postgres")
	must.Succeed(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, bad := strconv.ParseUint(u.Gid, 10, 32)
	must.Succeed(t, cmp.Or(err, bad, os.Chown(s.dir, int(uid), int(gid))))
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run runs a program of PostgreSQL. Its output goes to a file: the server inherits it.
func (s *Server) run(t testing.TB, program string, args ...string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), program)
	must.Succeed(t, err)
	defer out.Close()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(s.bin, program), args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.dir, s.as, out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name()) // only to show it
		t.Errorf("%s: %v\n%s", program, err, text)
	}
}

// Restart ends the server at once, as a crash does, and starts it again.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.run(t, "pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "restart")
}

// URL returns the URL of a database of the server.
func (s *Server) URL() string {
	return "postgres://postgres@/postgres?host=" + url.QueryEscape(s.dir)
}
