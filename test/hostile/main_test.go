// Package hostile sends the Agent Server what no good client sends: broken
// bodies, paths that climb, bodies without end, clients that are slow, deaf or
// come back a thousand times, and wrong keys. Whatever comes, the built binary
// answers with a status of its document and in the reference's shape of an
// error, does not panic, stays small, and lives on.
//
// # Usage
//
//	go test ./test/hostile
//	DEFT_BIN=bin/deft go test ./test/hostile
//
// It needs nothing from outside.
package hostile_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// deft is the path of the binary under test.
var deft string

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (int, error) {
	deft = os.Getenv("DEFT_BIN")
	if deft == "" {
		dir, err := os.MkdirTemp("", "deft-hostile-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		deft = filepath.Join(dir, "deft")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", deft, "../../cmd/deft")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return 0, fmt.Errorf("build deft: %w", err)
		}
	}
	var err error
	if deft, err = filepath.Abs(deft); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

var listens = regexp.MustCompile(`on (http://\S+)`)

// victim is a running server.
type victim struct {
	url  string
	host string // of the url, with its port
	pid  int
	dir  string
	key  string

	mu      sync.Mutex
	answers map[int]int // by status
}

// command is the server with an environment of its own, without a way to the
// network.
func command(ctx context.Context, dir, key string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, deft, append([]string{"agent-server"}, args...)...)
	cmd.Dir = dir
	nowhere := "http://127.0.0.1:9" // discard; nobody listens
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OH_PERSISTENCE_DIR=" + filepath.Join(dir, "oh"),
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "ALL_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
		"GIT_TERMINAL_PROMPT=0",
	}
	if key != "" {
		cmd.Env = append(cmd.Env, "OH_SESSION_API_KEYS_0="+key)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start runs a server until the test ends. At its end it must be alive still,
// and must not have panicked.
func start(t *testing.T, key string) *victim {
	t.Helper()
	v := &victim{dir: t.TempDir(), key: key, answers: map[int]int{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := command(ctx, v.dir, key, "--host", "127.0.0.1", "--port", "0")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.pid = cmd.Process.Pid
	var said strings.Builder // read after drained
	found, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		defer close(found)
		for lines := bufio.NewReader(errs); ; {
			line, err := lines.ReadString('\n')
			said.WriteString(line)
			if m := listens.FindStringSubmatch(line); m != nil && v.url == "" && len(found) == 0 {
				found <- m[1]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if v.url != "" {
			v.alive(t)
		}
		cancel()
		<-drained
		_ = cmd.Wait() // ended by us
		if strings.Contains(said.String(), "panic") || strings.Contains(said.String(), "goroutine ") {
			t.Error("the server panicked")
		}
		if t.Failed() {
			text := said.String()
			t.Logf("the server said at last:\n%s", text[max(0, len(text)-6000):])
		}
	})
	url, ok := <-found
	if !ok {
		t.Fatal("the server did not start")
	}
	v.url, v.host = url, strings.TrimPrefix(url, "http://")
	return v
}

// alive holds that the server answers.
func (v *victim) alive(t *testing.T) {
	t.Helper()
	resp, err := http.Get(v.url + "/health")
	if err != nil {
		t.Errorf("the server is gone: %v", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("health: %s", resp.Status)
	}
}

// client gives up on a server that does not answer, and opens no more
// connections than it needs.
var client = &http.Client{
	Timeout:       20 * time.Second,
	Transport:     &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 16, ExpectContinueTimeout: 15 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do sends a request with the server's key and returns the answer.
func (v *victim) do(t *testing.T, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, v.url+path, sent)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Session-API-Key", v.key)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// conversation makes a conversation whose model nobody answers for.
func (v *victim) conversation(t *testing.T) (id string) {
	t.Helper()
	status, raw := v.do(t, "POST", "/api/conversations", map[string]any{
		"autotitle": false, "workspace": map[string]any{"working_dir": filepath.Join(v.dir, "work")},
		"agent": map[string]any{
			"kind": "Agent", "tools": []any{},
			"llm": map[string]any{"model": "openai/mock", "base_url": "http://127.0.0.1:9/v1", "api_key": "x", "num_retries": 0},
		},
	})
	var made struct{ ID string }
	if err := json.Unmarshal(raw, &made); err != nil || status != http.StatusCreated {
		t.Fatalf("create: %d %s %v", status, raw, err)
	}
	return made.ID
}

// peak returns the most memory that the server has ever held, in megabytes.
func (v *victim) peak(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(raw), "VmHWM:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		t.Fatal("the kernel does not say how much memory a process held")
	}
	kb, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// mostMemory bounds what a server may hold, whatever it is sent, in megabytes.
const mostMemory = 200

// small holds that the server never took more.
func (v *victim) small(t *testing.T) {
	t.Helper()
	if mb := v.peak(t); mb >= mostMemory {
		t.Errorf("the server held %d MB", mb)
	} else {
		t.Logf("the server held at most %d MB", mb)
	}
}

// files returns how many files and connections the server has open.
func (v *victim) files(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", v.pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// back waits until the server has no more open than before.
func (v *victim) back(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); v.files(t) > before; {
		if time.Now().After(end) {
			t.Errorf("%d files are open, %d were before", v.files(t), before)
			return
		}
		v.alive(t) // gives it time
	}
}
