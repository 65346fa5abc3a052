package main

import (
	"bufio"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/test/hostimage"
	"github.com/deft-dev/deft/tool/ipython/kerneltest"
)

// dockerHost is the address of the engine that scripts use: DOCKER_HOST or the
// usual socket, else the one that `make deps` has started.
var dockerHost = sync.OnceValues(func() (host string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, host := range []string{"", os.Getenv("DEFT_TEST_DOCKER")} {
		options := []client.Opt{client.FromEnv}
		if host != "" {
			options = append(options, client.WithHost(host))
		}
		c, cerr := client.New(options...)
		if cerr == nil {
			_, cerr = c.Ping(ctx, client.PingOptions{})
			host = c.DaemonHost()
			c.Close()
		}
		if cerr == nil {
			return host, nil
		}
		err = errors.Join(err, cerr)
	}
	return "", err
})

// hasDocker reports whether there is an engine, which CI must have.
func hasDocker() (bool, error) {
	_, err := dockerHost()
	if err != nil && os.Getenv("CI") == "true" {
		return false, err
	}
	return err == nil, nil
}

// hasGVisor reports whether the engine has gVisor's runtime, which CI must have.
func hasGVisor() (bool, error) {
	host, err := dockerHost()
	if err != nil {
		return hasDocker()
	}
	c, err := client.New(client.WithHost(host))
	if err != nil {
		return false, err
	}
	defer c.Close()
	got, err := c.Info(context.Background(), client.InfoOptions{})
	if err != nil {
		return false, err
	}
	_, ok := got.Info.Runtimes["runsc"]
	if !ok && os.Getenv("CI") == "true" {
		return false, errors.New("the Docker engine has no runtime runsc")
	}
	return ok, nil
}

// staticDeft is the path of a static binary, which runs in every image; the test
// binary itself is not one with the race detector.
var staticDeft = sync.OnceValues(func() (string, error) {
	if given, err := binary.Given(); given != "" || err != nil {
		return given, err
	}
	var err error
	if builtDir, err = os.MkdirTemp("", "deft-static-"); err != nil {
		return "", err
	}
	deft := filepath.Join(builtDir, "deft")
	if err := binary.Build(deft); err != nil {
		return "", err
	}
	return deft, os.Chmod(builtDir, 0o755)
})

// builtDir has the binary that staticDeft has built; "" while there is none.
var builtDir string

// cmdDocker has the script use containers: it sets DOCKER_HOST and DEFT, the path of
// a static binary, and removes the containers of the script's data at the end.
// docker remove removes them at once, and docker count 1 wants so many, which
// may take a moment.
func cmdDocker(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: docker [remove | count n]")
	}
	host, err := dockerHost()
	ts.Check(err)
	switch {
	case len(args) == 0:
		deft, err := staticDeft()
		ts.Check(err)
		ts.Setenv("DOCKER_HOST", host)
		ts.Setenv("DEFT", deft)
		ts.Defer(func() {
			_, err := containers(host, ts.Getenv("WORK"), true)
			ts.Check(err)
		})
	case args[0] == "remove":
		n, err := containers(host, ts.Getenv("WORK"), true)
		ts.Check(err)
		if n == 0 {
			ts.Fatalf("there is no container to remove")
		}
	case args[0] == "count" && len(args) == 2:
		n, err := awaitContainers(host, ts.Getenv("WORK"), args[1])
		ts.Check(err)
		if strconv.Itoa(n) != args[1] {
			ts.Fatalf("%d containers, want %s", n, args[1])
		}
	default:
		ts.Fatalf("usage: docker [remove | count n]")
	}
}

// cmdChromium sets CHROMIUM_IMAGE to the name of an image with Chromium.
func cmdChromium(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: chromium")
	}
	host, err := dockerHost()
	ts.Check(err)
	name, err := hostimage.Chromium(context.Background(), host)
	ts.Check(err)
	ts.Setenv("CHROMIUM_IMAGE", name)
}

// hasKernel reports whether there is a Jupyter kernel, which CI must have.
func hasKernel() (bool, error) {
	_, _, err := kerneltest.Find()
	if err != nil && os.Getenv("CI") == "true" {
		return false, err
	}
	return err == nil, nil
}

// cmdKernel sets KERNEL and PYTHON to the directories of a Jupyter kernel and its Python, or
// KERNEL_IMAGE to the name of an image with both.
func cmdKernel(ts *testscript.TestScript, neg bool, args []string) {
	dir, python, err := kerneltest.Find()
	ts.Check(err)
	switch {
	case !neg && len(args) == 0:
		ts.Setenv("KERNEL", dir)
		ts.Setenv("PYTHON", python)
	case !neg && slices.Equal(args, []string{"image"}):
		host, err := dockerHost()
		ts.Check(err)
		name, err := hostimage.Notebook(context.Background(), host, dir)
		ts.Check(err)
		ts.Setenv("KERNEL_IMAGE", name)
	default:
		ts.Fatalf("usage: kernel [image]")
	}
}

// awaitContainers counts the containers, again at each event of the engine, until there
// are so many or it has been long enough.
func awaitContainers(host, below, want string) (n int, err error) {
	c, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := c.Events(ctx, client.EventsListOptions{})
	for {
		if n, err = containers(host, below, false); err != nil || strconv.Itoa(n) == want {
			return n, err
		}
		select {
		case <-events.Messages:
		case <-events.Err: // ctx has ended, mostly
			return n, nil
		}
	}
}

// containers counts the containers whose workspace is below a directory, and removes
// them if it is told to.
func containers(host, below string, remove bool) (n int, err error) {
	c, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", "dev.deft.workspace")})
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, one := range found.Items {
		if !strings.HasPrefix(one.Labels["dev.deft.workspace"], below+"/") {
			continue
		}
		n++
		if remove {
			_, err := c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true})
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

var listensAt = regexp.MustCompile(`agent-server on (http://\S+)`)

// cmdAgentServer starts an agent server with further arguments and sets SERVER to its
// address, after it has stopped the one before: agentserver deft --sandbox docker …;
// without arguments it only stops it.
func cmdAgentServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: agentserver [command…]")
	}
	key := ts.Getenv("WORK") + "/agent-server"
	if old, ok := servers.LoadAndDelete(key); ok {
		old.(func())()
	}
	if len(args) == 0 {
		return
	}
	cmd := exec.CommandContext(context.Background(), args[0], append([]string{"agent-server", "--port", "0"}, args[1:]...)...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "DEFT_DATA", "DOCKER_HOST"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines, ready := bufio.NewScanner(out), make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			if m := listensAt.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
	}()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-ended
		_ = cmd.Wait() // the exit code is not tested
	})
	ts.Defer(stop)
	select {
	case at := <-ready:
		u, err := url.Parse(at)
		ts.Check(err)
		ts.Setenv("SERVER", u.String())
	case <-ended:
		ts.Fatalf("the agent server ended at once")
	}
	servers.Store(key, stop)
}
