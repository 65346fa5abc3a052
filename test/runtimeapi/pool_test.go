package runtimeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// withPool starts a server whose pool has so many sandboxes, and waits until they are there.
func withPool(t *testing.T, size int) (s *server, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "pool.json")
	writePool(t, file, size)
	s = open(t, "--ignore", ignored, "--pool", file)
	await(t, func() bool { return s.metric("deft_pool_ready") == size })
	return s, file
}

func writePool(t *testing.T, file string, size int) {
	t.Helper()
	text := "[]"
	if size > 0 {
		text = fmt.Sprintf(`[{"size": %d}]`, size)
	}
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
}

// metric returns the sum of a metric over all classes.
func (s *server) metric(name string) int {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/metrics", nil)
	must.Succeed(s.t, err)
	q.Header.Set("X-API-Key", key)
	answer, err := http.DefaultClient.Do(q)
	must.Succeed(s.t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must.Succeed(s.t, err)
	sum := 0
	for _, m := range regexp.MustCompile(`(?m)^`+name+`\{.*\} (\d+)$`).FindAllSubmatch(raw, -1) {
		n, err := strconv.Atoi(string(m[1]))
		must.Succeed(s.t, err)
		sum += n
	}
	return sum
}

// TestPool: a claimed sandbox has an identity of its own and nothing of the pool's past,
// and the pool follows its file.
func TestPool(t *testing.T) {
	t.Parallel()
	s, file := withPool(t, 3)
	var all []runtime
	for i := range 3 {
		all = append(all, s.begin(strconv.Itoa(i), action))
	}
	if hits := s.metric("deft_pool_hits_total"); hits != 3 {
		t.Errorf("%d of 3 starts were served by the pool", hits)
	}
	seen := map[string]string{}
	for _, r := range all {
		// The identity of a machine, random values, the environment, and leftovers of others.
		for what, command := range map[string]string{
			"machine id": "cat /etc/machine-id 2>/dev/null; true", "files": "ls -A . | wc -l", "environment": "env | grep -ci 'key\\|OF_THE_SERVER'",
		} {
			want := map[string]string{"machine id": "", "files": "0", "environment": "0"}[what]
			if got := r.run(t, command); got != want {
				t.Errorf("%s: %q", what, got)
			}
		}
		before := time.Now().Unix()
		if at, err := strconv.ParseInt(r.run(t, "date +%s"), 10, 64); err != nil || at < before || at > time.Now().Unix() {
			t.Errorf("its clock shows %d, %v", at, err)
		}
		for what, value := range map[string]string{
			"session key": r.SessionKey, "id": r.ID, "workspace": r.run(t, "stat -c %d:%i /workspace"), "entropy": r.run(t, "od -An -N16 -tx1 /dev/urandom"),
			"pid namespace": r.run(t, "readlink /proc/self/ns/pid"),
		} {
			if other := seen[what+value]; other != "" {
				t.Errorf("%s and %s have the same %s", other, r.ID, what)
			}
			seen[what+value] = r.ID
		}
	}
	await(t, func() bool { return s.metric("deft_pool_ready") == 3 }) // refilled
	writePool(t, file, 1)
	s.signal(syscall.SIGHUP)
	await(t, func() bool { return s.sandboxes() == 4 })
	writePool(t, file, 0)
	s.signal(syscall.SIGHUP)
	await(t, func() bool { return s.sandboxes() == 3 })
	if r := s.begin("cold", action); r.run(t, "echo ok") != "ok" {
		t.Errorf("%+v", r)
	}
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	must.Succeed(s.t, s.cmd.Process.Signal(sig))
}

// TestRacingClaims: of claims at the same time each has a sandbox of its own, whether the
// pool has enough or not.
func TestRacingClaims(t *testing.T) {
	t.Parallel()
	s, _ := withPool(t, 20)
	ids := make([]string, 30)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			<-begin
			ids[i] = s.begin(strconv.Itoa(i), action).ID
		})
	}
	close(begin)
	all.Wait()
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 30 {
		t.Error("one sandbox has two owners")
	}
	if hits := s.metric("deft_pool_hits_total"); hits < 20 {
		t.Errorf("%d claims were served by a pool of 20", hits)
	}
}

// TestPoolPrepared: a sandbox that waits makes the agent server's store, which is empty,
// before anybody asks for one.
func TestPoolPrepared(t *testing.T) {
	t.Parallel()
	host := engine(t)
	file := filepath.Join(t.TempDir(), "pool.json")
	must.Succeed(t, os.WriteFile(file, []byte(`[{"image": "`+image+`", "image_pull_policy": "Never", "size": 1}]`), 0o600))
	s := openWith(t, host, "--sandbox", "docker", "--pool", file)
	await(t, func() bool { return s.metric("deft_pool_ready") == 1 })
	waiting, err := os.ReadDir(filepath.Join(s.dir, "data/runtime-api/workspaces"))
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%v, %v", waiting, err)
	}
	answer, err := ofEngine(host).Get(`http://docker/containers/json?filters={"label":["dev.deft.sandbox=` + waiting[0].Name() + `"]}`)
	must.Succeed(t, err)
	var all []struct {
		ID string `json:"Id"`
	}
	err = json.NewDecoder(answer.Body).Decode(&all)
	answer.Body.Close()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	await(t, func() bool {
		return busybox(t, host, all[0].ID, "test", "-e", "/root/.local/share/deft/events/events.db") == 0
	})
	r, status := s.inContainer("s", map[string]any{"command": agent})
	if status != http.StatusOK || r.ID != waiting[0].Name() {
		t.Fatalf("%d, %+v", status, r)
	}
	var found struct{ Items []any }
	headers := map[string]string{"X-Session-API-Key": r.SessionKey}
	if status := request(t, "GET", r.URL+"/api/conversations/search", headers, nil, &found); status != http.StatusOK || len(found.Items) != 0 {
		t.Errorf("%d, %+v", status, found)
	}
}

// busybox runs a command of it in a container, and returns its exit code.
func busybox(t *testing.T, docker, container string, command ...string) int {
	t.Helper()
	ask := func(method, path string, body, to any) {
		raw, err := json.Marshal(body)
		must.Succeed(t, err)
		r, err := http.NewRequestWithContext(t.Context(), method, "http://docker"+path, bytes.NewReader(raw))
		must.Succeed(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := ofEngine(docker).Do(r)
		must.Succeed(t, err)
		defer answer.Body.Close()
		raw, err = io.ReadAll(answer.Body) // of a start: until the command has ended
		must.Succeed(t, err)
		if answer.StatusCode > http.StatusCreated {
			t.Fatalf("%s: %s %s", path, answer.Status, raw)
		}
		if to != nil {
			must.Succeed(t, json.Unmarshal(raw, to))
		}
	}
	var made struct{ ID string }
	ask("POST", "/containers/"+container+"/exec", map[string]any{"Cmd": append([]string{"/bin/busybox"}, command...), "AttachStdout": true}, &made)
	ask("POST", "/exec/"+made.ID+"/start", map[string]any{}, nil)
	var ended struct{ ExitCode int }
	ask("GET", "/exec/"+made.ID+"/json", nil, &ended)
	return ended.ExitCode
}
