package docker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestMounts: mounts are there with their modes; writes to an overlay are seen in this
// sandbox only, last as long as it, and never reach the source.
func TestMounts(t *testing.T) {
	t.Parallel()
	c := engine(t)
	base := t.TempDir()
	data, secret := filepath.Join(base, "data"), filepath.Join(base, "data/secret")
	testtree.Write(t, base, map[string]string{"data/file": "source", "data/old": "source", "data/secret/key": "SECRET", "data/secret/deep/key": "SECRET", "ws/x": "", "ro/file": "read", "vol/x": ""})
	dir := filepath.Join(base, "provider")
	p := provider(t, dir)
	volume := "deft-test-" + strings.ToLower(filepath.Base(filepath.Dir(base)))
	t.Cleanup(func() {
		if os.Geteuid() != 0 {
			return
		}
		if _, err := c.VolumeRemove(context.WithoutCancel(t.Context()), volume, client.VolumeRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	spec := sandbox.Spec{
		ID: "mounts" + strings.ToLower(filepath.Base(filepath.Dir(base))), Argv: []string{program, "sandboxtest-program"}, Workspace: filepath.Join(base, "ws"), Hidden: []string{filepath.Join(secret, "deep"), secret},
		Container: sandbox.Container{Pull: sandbox.PullNever, ReadOnly: true, Mounts: []sandbox.Mount{
			{Source: data, Target: "/over", Mode: sandbox.MountOverlay},
			{Source: filepath.Join(base, "ro"), Target: "/ro", Mode: sandbox.MountReadOnly},
			{Source: volume, Target: "/vol", Mode: sandbox.MountReadWrite},
		}},
	}
	if os.Geteuid() != 0 { // a new volume is root's
		spec.Container.Mounts[2] = sandbox.Mount{Source: filepath.Join(base, "vol"), Target: "/vol", Mode: sandbox.MountReadWrite}
	}
	start := func(id string) sandbox.Sandbox {
		t.Helper()
		spec := spec
		spec.ID += id
		s, err := p.Start(t.Context(), spec)
		must.Succeed(t, err)
		t.Cleanup(func() {
			must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID))
			if _, err := os.Stat(filepath.Join(dir, spec.ID)); !os.IsNotExist(err) {
				t.Errorf("its directory is left: %v", err)
			}
		})
		return s
	}
	first := start("a")
	got := sandboxtest.Shell(t, first, `cd /over; cat file; echo changed >file; rm old; mkdir new; echo made >new/file; cat secret/key secret/deep/key 2>/dev/null
		cat /ro/file; (echo x >/ro/file) 2>/dev/null && echo wrote; (echo x >/etc/made) 2>/dev/null && echo wrote; echo x >/tmp/made && echo tmp; echo kept >/vol/file; ls`)
	if got != "sourceread"+"tmp\nfile\nnew\nsecret" {
		t.Errorf("inside: %q", got)
	}
	second := start("b")
	if got := sandboxtest.Shell(t, second, `ls /over; cat /over/file /vol/file`); got != "file\nold\nsecret\nsourcekept" {
		t.Errorf("in another sandbox: %q", got)
	}
	must.Succeed(t, first.Stop(t.Context()))
	<-first.Done()
	first, err := p.Start(t.Context(), func() sandbox.Spec { s := spec; s.ID += "a"; return s }())
	must.Succeed(t, err)
	if got := sandboxtest.Shell(t, first, `ls /over; cat /over/file /over/new/file`); got != "file\nnew\nsecret\nchanged\nmade" {
		t.Errorf("after a stop: %q", got)
	}
	for name, want := range map[string]string{"data/file": "source", "data/old": "source", "ro/file": "read"} {
		if raw, err := os.ReadFile(filepath.Join(base, name)); err != nil || string(raw) != want {
			t.Errorf("%s of this machine reads %q, %v", name, raw, err)
		}
	}
}

// TestNothingOutside: with read-only files of the image, or a limited disk, nothing that the
// container may write is on this machine's disk, but for the workspace and mounts.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	engine(t)
	base := t.TempDir()
	p := provider(t, filepath.Join(base, "provider"))
	ws := filepath.Join(base, "ws")
	testtree.Write(t, base, map[string]string{"ws/x": ""})
	spec := sandbox.Spec{
		ID: "outside" + strings.ToLower(filepath.Base(filepath.Dir(base))), Argv: []string{program, "sandboxtest-program"}, Workspace: ws,
		Container: sandbox.Container{Pull: sandbox.PullNever, ReadOnly: true},
	}
	if os.Geteuid() == 0 {
		spec.Container.User = "0:0"
	}
	s, err := p.Start(t.Context(), spec)
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
	for range 2 {
		got := sandboxtest.Shell(t, s, `cd /; for f in /.deft/run/made /etc/hosts /etc/resolv.conf /etc/hostname /.deft/made; do (echo x >>$f) 2>/dev/null && echo wrote $f; done
			mkdir /.deft/run/made 2>/dev/null && echo made; while read -r _ at type options _; do case $type,$options in tmpfs,*|proc,*|sysfs,*|mqueue,*|devpts,*|cgroup*,*|devtmpfs,*|*,ro*) ;; *) echo $at;; esac; done </proc/mounts; cat /etc/hostname`)
		if want := ws + "\nsandbox"; strings.TrimSpace(strings.ReplaceAll(got, "/.deft/run\n", "")) != want { // that directory is gone
			t.Errorf("it may write %q, want %q", got, want)
		}
		if err := s.Stop(t.Context()); err != nil { // a second start has its directory, too
			t.Fatal(err)
		}
		<-s.Done()
		if s, err = p.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedMounts says which mount cannot be made, and why.
func TestRefusedMounts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	testtree.Write(t, base, map[string]string{"ws/x": "", "data/file": ""})
	host := engine(t).DaemonHost()
	p := provider(t, filepath.Join(base, "provider"))
	socket := filepath.Dir(strings.TrimPrefix(host, "unix://"))
	for name, c := range map[string]struct {
		spec func(*sandbox.Spec)
		kind fault.Kind
		text string
	}{
		"missing":          {mounted("/no/such", "/x", "ro"), fault.Invalid, "mount at /x"},
		"file overlay":     {mounted(filepath.Join(base, "data/file"), "/x", "overlay"), fault.Invalid, "an overlay is of a directory"},
		"own directory":    {mounted(base, "/.deft/run", "rw"), fault.Invalid, "nothing can be mounted at"},
		"processes":        {mounted(base, "/proc", "rw"), fault.Invalid, "nothing can be mounted at /proc"},
		"devices":          {mounted(base, "/dev/", "rw"), fault.Invalid, "nothing can be mounted at /dev"},
		"workspace":        {mounted(base, filepath.Join(base, "ws"), "rw"), fault.Invalid, "two directories cannot be mounted at"},
		"root":             {mounted(base, "/", "rw"), fault.Invalid, "no directory inside"},
		"mode":             {mounted(base, "/x", "rx"), fault.Invalid, "unknown mode"},
		"engine's socket":  {mounted(socket, "/x", "ro"), fault.Denied, "socket of a container engine"},
		"socket by itself": {mounted(strings.TrimPrefix(host, "unix://"), "/x", "ro"), fault.Denied, "socket of a container engine"},
		"socket, granted":  {func(s *sandbox.Spec) { s.Readable = []string{socket} }, fault.Denied, "socket of a container engine"},
	} {
		spec := sandbox.Spec{ID: "refused", Argv: []string{program}, Workspace: filepath.Join(base, "ws"), Container: sandbox.Container{Pull: sandbox.PullNever}}
		c.spec(&spec)
		if _, err := p.Start(t.Context(), spec); !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.text)
		}
	}
}

func mounted(source, target, mode string) func(*sandbox.Spec) {
	return func(s *sandbox.Spec) {
		s.Container.Mounts = []sandbox.Mount{{Source: source, Target: target, Mode: mode}}
	}
}
