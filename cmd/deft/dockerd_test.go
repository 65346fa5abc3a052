package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// ownEngine is a Docker engine of one script, which it may stop.
type ownEngine struct {
	dir string // short, for its socket
	cmd *exec.Cmd
}

func (e *ownEngine) host() string { return "unix://" + filepath.Join(e.dir, "docker.sock") }

// canOwnEngine reports whether scripts can have an engine of their own.
func canOwnEngine() (bool, error) {
	if os.Getuid() != 0 {
		return false, nil
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return false, nil //nolint:nilerr // then there is none
	}
	return hasDocker()
}

// cmdDockerd starts and ends an engine that only this script uses: dockerd start sets
// DOCKER_HOST and DEFT, dockerd stop ends it in order, and its containers with it, and
// dockerd kill ends the engine alone.
func cmdDockerd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dockerd start|stop|kill")
	}
	key := ts.Getenv("WORK") + "/dockerd"
	found, ok := servers.Load(key)
	if !ok {
		dir, err := os.MkdirTemp("", "dockerd-")
		ts.Check(err)
		found = &ownEngine{dir: dir}
		servers.Store(key, found)
		ts.Defer(func() {
			e := found.(*ownEngine)
			if e.cmd == nil { // its containers, and their starters, may still run
				ts.Check(e.start())
			}
			ts.Check(e.end(syscall.SIGTERM))
			_ = unix.Unmount(filepath.Join(e.dir, "data"), unix.MNT_DETACH) // only an engine that was killed leaves a mount
			ts.Check(os.RemoveAll(e.dir))
		})
	}
	e := found.(*ownEngine)
	switch args[0] {
	case "start":
		ts.Check(e.start())
		ts.Check(e.copyImage())
		deft, err := staticDeft()
		ts.Check(err)
		ts.Setenv("DEFT", deft)
		ts.Setenv("DOCKER_HOST", e.host())
	case "stop":
		ts.Check(e.end(syscall.SIGTERM))
	case "kill":
		ts.Check(e.end(syscall.SIGKILL))
	default:
		ts.Fatalf("usage: dockerd start|stop|kill")
	}
}

// start starts the engine and waits until it answers.
func (e *ownEngine) start() error {
	// The process of an engine that was killed is dead too, and looks alive where
	// nobody reaps it.
	if err := os.Remove(filepath.Join(e.dir, "run", "containerd", "containerd.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	log, err := os.OpenFile(filepath.Join(e.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), "dockerd", "--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "run"),
		"--pidfile", filepath.Join(e.dir, "pid"), "-H", e.host(), "--bridge=none", "--iptables=false")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	cmd.Cancel = func() error { return <-ended }
	c, err := client.New(client.WithHost(e.host()))
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if _, err := c.Ping(context.Background(), client.PingOptions{}); err == nil {
			e.cmd = cmd
			return nil
		}
		select {
		case err := <-ended:
			text, _ := os.ReadFile(log.Name()) // the output so far
			return errors.Join(errors.New("dockerd has ended: "+string(text[max(0, len(text)-1000):])), err)
		case <-time.After(100 * time.Millisecond): // it has no signal
		}
	}
}

// end sends the engine a signal and waits for its end.
func (e *ownEngine) end(s syscall.Signal) error {
	if e.cmd == nil {
		return nil
	}
	if err := e.cmd.Process.Signal(s); err != nil {
		return err
	}
	_ = e.cmd.Cancel() // waits; a signal ends it
	e.cmd = nil
	return nil
}

// copyImage brings the image of the tests into the engine.
func (e *ownEngine) copyImage() error {
	from, err := dockerHost()
	if err != nil {
		return err
	}
	source, err := client.New(client.FromEnv, client.WithHost(from))
	if err != nil {
		return err
	}
	defer source.Close()
	to, err := client.New(client.WithHost(e.host()))
	if err != nil {
		return err
	}
	defer to.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	image, err := source.ImageSave(ctx, []string{"deft-test-busybox:1"})
	if err != nil {
		return err
	}
	defer image.Close()
	done, err := to.ImageLoad(ctx, image)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, done)
	return errors.Join(err, done.Close())
}

// cmdKillContainers kills the program of the script's container.
func cmdKillContainers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: killcontainers")
	}
	c, err := client.New(client.WithHost(ts.Getenv("DOCKER_HOST")))
	ts.Check(err)
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found, err := c.ContainerList(ctx, client.ContainerListOptions{Filters: make(client.Filters).Add("label", "dev.deft.workspace")})
	ts.Check(err)
	n := 0
	for _, one := range found.Items {
		if !strings.HasPrefix(one.Labels["dev.deft.workspace"], ts.Getenv("WORK")+"/") {
			continue
		}
		n++
		_, err := c.ContainerKill(ctx, one.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
		ts.Check(err)
	}
	if n != 1 {
		ts.Fatalf("killed %s containers, want 1", strconv.Itoa(n))
	}
}
