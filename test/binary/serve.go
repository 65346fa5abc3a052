package binary

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is an agent server at work.
type Server struct {
	URL string
	PID int
	Dir string // its home and working directory
}

// AgentServer returns the command of an agent server with an environment of its
// own, without a way to the network. The end of ctx ends it.
func AgentServer(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, deft, append([]string{"agent-server"}, args...)...)
	cmd.Dir = dir
	nowhere := "http://127.0.0.1:9" // discard; nobody listens
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OH_PERSISTENCE_DIR=" + filepath.Join(dir, "oh"),
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "ALL_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
		"GIT_TERMINAL_PROMPT=0", "OH_CONVERSATIONS_PATH=workspace/conversations",
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Serve runs an AgentServer on a free port until the test ends. More variables
// come after those that all have.
func Serve(t *testing.T, more ...string) Server {
	t.Helper()
	return ServeIn(t, t.TempDir(), nil, more...)
}

// ServeIn is [Serve] in a directory, with further arguments.
func ServeIn(t *testing.T, dir string, args []string, more ...string) Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := AgentServer(ctx, dir, append([]string{"--host", "127.0.0.1", "--port", "0"}, args...)...)
	cmd.Env = append(cmd.Env, more...)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	var said strings.Builder // read after drained
	found, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		listen(errs, &said, found)
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // ended by us
		judge(t, said.String())
	})
	url, ok := <-found
	if !ok {
		t.Fatal("the server did not start")
	}
	return Server{URL: url, PID: cmd.Process.Pid, Dir: dir}
}

var listens = regexp.MustCompile(`on (http://\S+)`)

// listen keeps a server's output, finds the address that it listens on, and closes
// found when the server prints nothing more.
func listen(errs io.Reader, said *strings.Builder, found chan<- string) {
	defer close(found)
	told := false
	for lines := bufio.NewReader(errs); ; {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if m := listens.FindStringSubmatch(line); m != nil && !told {
			told = true
			found <- m[1]
		}
		if err != nil {
			return
		}
	}
}

// judge holds that a server that has ended did not panic.
func judge(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		t.Error("the server panicked")
	}
	if t.Failed() {
		t.Logf("the server said at last:\n%s", said[max(0, len(said)-6000):])
	}
}
