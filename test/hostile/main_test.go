// Package hostile sends the Agent Server requests that no correct client sends:
// broken bodies, paths that climb, bodies without end, clients that are slow, deaf
// or come back a thousand times, and wrong keys. Whatever comes, the built binary
// answers with a status of its document and with the reference's error schema,
// does not panic, keeps its memory bounded, and keeps serving.
//
// # Usage
//
//	go test ./test/hostile
//	DEFT_BIN=$PWD/bin/deft go test ./test/hostile
//
// It needs no network.
package hostile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }

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

// start runs a server until the test ends. At its end it must be alive still,
// and must not have panicked.
func start(t *testing.T, key string) *victim {
	t.Helper()
	var env []string
	if key != "" {
		env = append(env, "OH_SESSION_API_KEYS_0="+key)
	}
	s := binary.Serve(t, env...)
	v := &victim{url: s.URL, host: strings.TrimPrefix(s.URL, "http://"), pid: s.PID, dir: s.Dir, key: key, answers: map[int]int{}}
	t.Cleanup(func() { v.alive(t) })
	return v
}

// alive checks that the server answers.
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

// client opens no more connections than it needs.
var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 16, ExpectContinueTimeout: 15 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do sends a request with the server's key and returns the answer.
func (v *victim) do(t *testing.T, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		must.Succeed(t, err)
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, v.url+path, sent)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", v.key)
	resp, err := client.Do(r)
	must.Succeed(t, err)
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	must.Succeed(t, err)
	return resp.StatusCode, answer
}

// conversation makes a conversation whose model does not answer.
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

// peak returns the most memory that the server has ever used, in megabytes.
func (v *victim) peak(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.pid))
	must.Succeed(t, err)
	_, rest, ok := strings.Cut(string(raw), "VmHWM:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		t.Fatal("the kernel does not say how much memory a process held")
	}
	kb, err := strconv.Atoi(fields[0])
	must.Succeed(t, err)
	return kb >> 10
}

// mostMemory is how much memory a server may use, whatever it is sent, in megabytes.
const mostMemory = 200

// small holds that the server never took more.
func (v *victim) small(t *testing.T) {
	t.Helper()
	v.within(t, mostMemory)
}

// within holds that the server never took more megabytes.
func (v *victim) within(t *testing.T, most int) {
	t.Helper()
	if mb := v.peak(t); mb >= most {
		t.Errorf("the server held %d MB", mb)
	} else {
		t.Logf("the server held at most %d MB", mb)
	}
}

// files returns how many files and connections the server has open. Only root may list
// the files of a process that is not dumpable; Linux 6.2 says how many there are.
func (v *victim) files(t *testing.T) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", v.pid)
	if all, err := os.ReadDir(dir); err == nil {
		return len(all)
	}
	info, err := os.Stat(dir)
	must.Succeed(t, err)
	if info.Size() == 0 {
		t.Skip("this kernel does not tell how many descriptors a process has")
	}
	return int(info.Size())
}

// back waits until the server has no more open than before.
func (v *victim) back(t *testing.T, before int) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("no more than %d files are open", before), func() bool { return v.files(t) <= before })
}
