package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			rep, checks, err := b.Doctor(t.Context())
			if err != nil {
				missing(t, err)
			}
			if rep.Level != level {
				t.Errorf("level %s, want %s", rep.Level, level)
			}
			list := slices.ContainsFunc(rep.Missing, func(m sandbox.Missing) bool { return m.Feature == "net-list" })
			if !slices.Contains(rep.Features, "net-open") || list != (level == process.LevelLandlock) || list == slices.Contains(rep.Features, "net-list") {
				t.Errorf("the report on networks is wrong: %v, %v", rep.Features, rep.Missing)
			}
			for _, c := range checks {
				t.Logf("%v %-22s %s", c.OK, c.Name, c.Detail)
				if !c.OK {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
			}
		})
	}
}

// TestDoctorInTheHome holds that the checks take no alarm at their own files where the
// temporary directory is in the home. It changes the environment, and so runs alone.
func TestDoctorInTheHome(t *testing.T) {
	for _, level := range levels {
		b := setup(t, level)
		t.Setenv("TMPDIR", filepath.Join(b.home, "tmp"))
		must.Succeed(t, os.MkdirAll(os.TempDir(), 0o755))
		_, checks, err := b.Doctor(t.Context())
		if err != nil {
			missing(t, err)
		}
		for _, c := range checks {
			if !c.OK {
				t.Errorf("%s: %s: %s", level, c.Name, c.Detail)
			}
		}
	}
}

// TestDoctorSeesWhatIsOpen proves that the checks can fail: without isolation most
// of their attempts work.
func TestDoctorSeesWhatIsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNone)
	_, checks, err := b.Doctor(t.Context())
	must.Succeed(t, err)
	for _, c := range checks {
		if c.Name == "tcp-out" || c.Name == "udp-out" {
			t.Errorf("%s was tried without a sandbox: %s", c.Name, c.Detail)
		}
	}
	for _, name := range []string{
		"write-outside", "delete-outside", "symlink-escape", "proc-root", "read-secrets", "read-deft-data", "other-projects", "write-granted", "set-user-id", "limit-others", "signal-first-threads",
		"host-loopback", "abstract-socket", "unix-socket", "service-socket", "user-namespace", "io-uring", "signal-host-process",
	} {
		i := slices.IndexFunc(checks, func(c sandbox.Attempt) bool { return c.Name == name })
		if i < 0 {
			t.Errorf("no check %s", name)
		} else if checks[i].OK {
			t.Errorf("%s was refused without isolation: %s", name, checks[i].Detail)
		}
	}
}

// TestDoctorNeedsTheProxy proves that the checks of networks fail where no proxy
// refuses.
func TestDoctorNeedsTheProxy(t *testing.T) {
	t.Parallel()
	checks := process.ProxyChecks("127.0.0.1:9")
	if len(checks) != 3 {
		t.Errorf("%d checks", len(checks))
	}
	for _, c := range checks {
		if c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// TestDoctorFromTheHome holds that a program in the home, which the sandbox shows, is no alarm,
// and that a secret beside it would be one.
func TestDoctorFromTheHome(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			own := filepath.Join(b.home, "src/deft/bin/deft")
			program, err := os.ReadFile(executable(t))
			must.Succeed(t, err)
			write(t, own, "")
			must.Succeed(t, errors.Join(os.WriteFile(own, program, 0o700), os.Chmod(own, 0o700)))
			write(t, filepath.Join(b.home, "src/deft/.env"), "SECRET")
			p, err := process.New(process.Options{Dir: b.dir, Level: level, Home: b.home, TmpBytes: 64 << 20, Self: own})
			must.Succeed(t, err)
			defer p.Close()
			_, checks, err := p.Doctor(t.Context())
			if err != nil {
				missing(t, err)
			}
			for _, c := range checks {
				if !c.OK {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
			}
		})
	}
}
