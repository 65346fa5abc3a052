package docker_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestEngine asks the engine for its kind and version.
func TestEngine(t *testing.T) {
	t.Parallel()
	got, err := provider(t, t.TempDir()).Engine(t.Context())
	must.Succeed(t, err)
	if got.Version == "" || got.Address == "" || len(got.Runtimes) == 0 || !slices.Contains(got.Images, image) {
		t.Errorf("%+v, want a version, an address, runtimes and the image %s", got, image)
	}
}

// TestNoEngine: where nothing answers, every call that needs the engine says so,
// with the next step.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	p, err := docker.New(docker.Options{Dir: t.TempDir(), Host: "unix://" + filepath.Join(t.TempDir(), "no.sock"), Self: program})
	must.Succeed(t, err)
	defer p.Close()
	_, about := p.Engine(t.Context())
	_, list := p.List(t.Context())
	_, start := p.Start(t.Context(), sandbox.Spec{ID: "one", Argv: []string{program}, Workspace: t.TempDir()})
	for what, err := range map[string]error{"Engine": about, "List": list, "Start": start} {
		if !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want an error of kind unavailable with a hint", what, err)
		}
	}
}

// TestStuckEngine: an engine that takes connections and says nothing is given up.
func TestStuckEngine(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "stuck.sock")
	l, err := net.Listen("unix", socket)
	must.Succeed(t, err)
	defer l.Close()
	dir := t.TempDir()
	p, err := docker.New(docker.Options{Dir: dir, Host: "unix://" + socket, Self: program, AnswerTimeout: 50 * time.Millisecond})
	must.Succeed(t, err)
	defer p.Close()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "one"), 0o700))
	_, about := p.Engine(t.Context())
	_, list := p.List(t.Context())
	_, images := p.BuiltImages(t.Context())
	_, get := p.Get(t.Context(), "one")
	_, start := p.Start(t.Context(), sandbox.Spec{ID: "one", Argv: []string{program}, Workspace: t.TempDir()})
	for what, err := range map[string]error{
		"Engine": about, "List": list, "BuiltImages": images, "Get": get, "Start": start, "Remove": p.Remove(t.Context(), "one"),
	} {
		if !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s: %v, want an error of kind unavailable that says that the engine does not answer, with a hint", what, err)
		}
	}
}

// TestDeniedEngine: who may not use the engine's socket is told so, and not that nothing
// answers there.
func TestDeniedEngine(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.WithHost("unix:///engine.sock"), client.WithDialContext(func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	}))
	must.Succeed(t, err)
	defer c.Close()
	_, err = c.Info(t.Context(), client.InfoOptions{})
	err = docker.EngineError(err, "ask the engine")
	if !fault.Is(err, fault.Denied) || !strings.Contains(fault.HintOf(err), "group of the engine's socket") || !strings.Contains(err.Error(), "engine.sock") {
		t.Errorf("%v, hint %q; want an error of kind denied that says what to do", err, fault.HintOf(err))
	}
}

// TestOCIRuntimeUnknown: a runtime that the engine does not have, or would not use, is
// refused.
func TestOCIRuntimeUnknown(t *testing.T) {
	t.Parallel()
	engine(t)
	p := provider(t, t.TempDir())
	_, err := p.Start(t.Context(), sandbox.Spec{
		ID: "one", Argv: []string{program}, Workspace: t.TempDir(),
		Container: sandbox.Container{Pull: sandbox.PullNever, Runtime: "nonsense"},
	})
	if !fault.Is(err, fault.Unsupported) || fault.HintOf(err) == "" {
		t.Errorf("%v, want an error of kind unsupported with a hint", err)
	}
}

// TestImageInvalid: an invalid name of an image is refused with an example.
func TestImageInvalid(t *testing.T) {
	t.Parallel()
	engine(t)
	_, err := provider(t, t.TempDir()).Start(t.Context(), sandbox.Spec{
		ID: "one", Argv: []string{program}, Workspace: t.TempDir(), Container: sandbox.Container{Pull: sandbox.PullNever, Image: "Not a Name"},
	})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.HintOf(err), "debian:12") {
		t.Errorf("%v, want an error of kind invalid with a hint", err)
	}
}

// TestNameTaken: a container that is in the way, as one that somebody still removes, is
// replaced.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	c := engine(t)
	dir := t.TempDir()
	spec := sandbox.Spec{
		ID: "taken", Argv: []string{program, "sandboxtest-program"}, Workspace: t.TempDir(), Container: sandbox.Container{Pull: sandbox.PullNever},
	}
	first := provider(t, dir)
	if _, err := first.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must.Report(t, first.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
	list, err := c.ContainerList(t.Context(), client.ContainerListOptions{Filters: make(client.Filters).Add("label", "dev.deft.workspace="+spec.Workspace)})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d containers, %v", len(list.Items), err)
	}
	removed := make(chan error, 1)
	go func() {
		_, err := c.ContainerRemove(t.Context(), list.Items[0].ID, client.ContainerRemoveOptions{Force: true})
		removed <- err
	}()
	s, err := provider(t, dir).Start(t.Context(), spec) // finds it, or replaces it
	if rerr := <-removed; rerr != nil {
		t.Fatal(rerr)
	}
	must.Succeed(t, err)
	if s.Reused() {
		<-s.Done()
		if s, err = provider(t, dir).Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Status(t.Context()); err != nil || got.State != sandbox.Running {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestDiskOfTheImage: storage that counts the image has no place for it.
func TestDiskOfTheImage(t *testing.T) {
	t.Parallel()
	btrfs := errors.New("create container: Error response from daemon: Failed to limit qgroup for &{}: disk quota exceeded")
	err := docker.Explain(btrfs, sandbox.Spec{Container: sandbox.Container{DiskBytes: 20 << 20}})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.HintOf(err), "size of the image") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

// TestDiskLimit: a container's writes are limited, or the limit is refused.
func TestDiskLimit(t *testing.T) {
	t.Parallel()
	engine(t)
	p := provider(t, t.TempDir())
	spec := sandbox.Spec{
		ID: "disk", Argv: []string{program, "sandboxtest-program"}, Workspace: t.TempDir(),
		Container: sandbox.Container{Pull: sandbox.PullNever, User: "0", DiskBytes: 20 << 20},
	}
	s, err := p.Start(t.Context(), spec)
	if fault.Is(err, fault.Unsupported) {
		if !strings.Contains(fault.HintOf(err), "--disk") {
			t.Errorf("the hint of %v is %q", err, fault.HintOf(err))
		}
		return
	}
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
	got := sandboxtest.Shell(t, s, `head -c 1000000 /dev/zero >/tmp/small && echo small; head -c 40000000 /dev/zero >/tmp/large && echo large; echo end`)
	if !strings.HasPrefix(got, "small\n") || strings.Contains(got, "large\n") || !slices.Contains(s.Report().Features, "disk-limit") {
		t.Errorf("with a limit of 20 MiB: %q, features %q", got, s.Report().Features)
	}
}
