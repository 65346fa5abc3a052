package runtimeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/test/hostimage"
)

// placement is an agent server in one place.
type placement struct {
	t         *testing.T
	url, key  string
	workspace string // of the conversation, as the server names it
	beside    string // a directory of this machine beside it
	llm       string // the model, as the server reaches it
	mark      string // of the script
	inside    bool   // the server is in the sandbox
	kill      func(*testing.T)
	restart   func(*testing.T)
	suspend   func(*testing.T)          // pauses the sandbox, and resumes it; nil where only the conversation can be
	left      func(*testing.T) []string // of the conversation, after it was deleted
}

// placements are all placements.
var placements = map[string]func(*testing.T) *placement{
	"outside-process": func(t *testing.T) *placement { return outside(t, script, "", "--sandbox", "process") },
	"outside-docker": func(t *testing.T) *placement {
		return outside(t, script, engine(t), "--sandbox", "docker", "--image", image, "--pull", "never")
	},
	"outside-remote": func(t *testing.T) *placement { return outsideRemote(t, script) },
	"inside-process": func(t *testing.T) *placement {
		return inside(t, open(t, "--ignore", ignored), map[string]any{}, binary.Path())
	},
	"inside-docker": func(t *testing.T) *placement {
		s := openWith(t, engine(t), "--sandbox", "docker")
		return inside(t, s, map[string]any{"image": hostimage.Git(t, s.docker), "image_pull_policy": "Never"}, "/.deft/deft")
	},
}

// newMark is a number of seconds that no other process sleeps.
func newMark() string { return fmt.Sprint(1_000_000_000 + rand.IntN(1_000_000_000)) }

// scripted is the script of a placement.
func (p *placement) scripted(script string) []byte {
	return []byte(strings.NewReplacer("MARK", p.mark, "WORK", p.workspace, "BESIDE", p.beside).Replace(script))
}

// outside is an agent server of this machine.
func outside(t *testing.T, script, docker string, args ...string) *placement {
	t.Helper()
	dir := t.TempDir()
	p := &placement{key: serverKey, workspace: filepath.Join(dir, "project"), beside: filepath.Join(dir, "beside"), mark: newMark()}
	file := filepath.Join(dir, "llm.yaml")
	must.Succeed(t, os.WriteFile(file, p.scripted(script), 0o600))
	turns, err := llmtest.Load(file)
	must.Succeed(t, err)
	p.llm = llmtest.Start(t, turns).URL
	var pid int
	p.restart = func(*testing.T) {
		s := binary.ServeIn(t, dir, args, "OH_SESSION_API_KEYS_0="+serverKey, "DOCKER_HOST="+docker, "KEY_OF_API="+key)
		p.url, pid = s.URL, s.PID
	}
	p.restart(t)
	p.kill = func(t *testing.T) {
		must.Succeed(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	p.left = func(t *testing.T) []string {
		found := processesWith(t, p.mark)
		for _, of := range []string{"sandboxes/[0-9a-f]*[0-9]*", "sandboxes/docker/[0-9a-f]*"} {
			more, err := filepath.Glob(filepath.Join(dir, "workspace/conversations", of))
			must.Succeed(t, err)
			found = append(found, more...)
		}
		return found
	}
	return p
}

// outsideRemote has its sandboxes at a Runtime API.
func outsideRemote(t *testing.T, script string) *placement {
	t.Helper()
	api := openWith(t, engine(t), "--sandbox", "docker")
	p := outside(t, script, "", "--sandbox", "remote", "--runtime-api", api.url, "--runtime-api-key-env", "KEY_OF_API", "--image", hostimage.Git(t, api.docker), "--pull", "never")
	p.workspace = "/workspace/project"
	p.left = func(*testing.T) (ids []string) {
		var all struct{ Runtimes []runtime }
		api.do("GET", "/list", key, nil, &all)
		for _, r := range all.Runtimes {
			ids = append(ids, r.SessionID)
		}
		return ids
	}
	return p
}

// inside is an agent server in a runtime, with its model beside it: the sandbox has no
// network.
func inside(t *testing.T, s *server, more map[string]any, program string) *placement {
	t.Helper()
	p := &placement{llm: "http://127.0.0.1:8181", mark: newMark(), inside: true}
	ask := map[string]any{
		"command": agent, "working_dir": "/workspace", "session_id": "placed",
		"environment": map[string]string{"OH_CONVERSATIONS_PATH": "/workspace/state", "OH_PERSISTENCE_DIR": "/workspace/settings", "OH_BASH_EVENTS_DIR": "/workspace/bash"},
	}
	maps.Copy(ask, more)
	var r runtime
	p.restart = func(t *testing.T) {
		t.Helper()
		if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK || r.Status != "running" {
			t.Fatalf("start: %d, %+v", status, r)
		}
		p.url, p.key, p.workspace = r.URL, r.SessionKey, r.WorkingDir+"/project"
		p.startModel(t, r.WorkingDir, program)
	}
	p.restart(t)
	p.kill = func(t *testing.T) {
		t.Helper()
		if s.docker == "" {
			s.endSandbox(r.ID)
		} else {
			killContainer(t, s.docker, r.ID)
		}
		await(t, func() bool {
			var now runtime
			s.do("GET", "/runtime/"+r.ID, key, nil, &now)
			return now.Status == "stopped"
		})
	}
	p.suspend = func(t *testing.T) {
		t.Helper()
		for _, step := range []struct {
			path   string
			health int
		}{{"/pause", http.StatusServiceUnavailable}, {"/resume", http.StatusOK}} {
			if status := s.do("POST", step.path, key, map[string]any{"runtime_id": r.ID}, nil); status != http.StatusOK {
				t.Errorf("%s: %d", step.path, status)
			}
			if status := request(t, "GET", p.url+"/health", nil, nil, nil); status != step.health {
				t.Errorf("health after %s: %d", step.path, status)
			}
		}
	}
	p.left = func(t *testing.T) []string { return processesWith(t, p.mark) }
	return p
}

// startModel starts the scripted model in the sandbox.
func (p *placement) startModel(t *testing.T, dir, program string) {
	t.Helper()
	if status := p.uploadTo(t, "/api/file/upload", dir+"/llm.yaml", p.scripted(script)); status != http.StatusOK {
		t.Fatalf("upload the model's script: %d", status)
	}
	command := map[string]any{"command": program + " dev scripted-llm " + dir + "/llm.yaml", "timeout": 600}
	if status := p.do(t, "POST", "/api/bash/start_bash_command", command, nil); status != http.StatusOK {
		t.Fatalf("start the model: %d", status)
	}
}

// ofEngine is a client of an engine.
func ofEngine(docker string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(docker, "unix://"))
	}}}
}

// killContainer kills the container that has the workspace of a runtime.
func killContainer(t *testing.T, docker, id string) {
	t.Helper()
	c := ofEngine(docker)
	answer, err := c.Get("http://docker/containers/json")
	must.Succeed(t, err)
	defer answer.Body.Close()
	var all []struct {
		ID     string `json:"Id"`
		Mounts []struct{ Source string }
	}
	must.Succeed(t, json.NewDecoder(answer.Body).Decode(&all))
	for _, one := range all {
		for _, m := range one.Mounts {
			if strings.Contains(m.Source, id) {
				killed, err := c.Post("http://docker/containers/"+one.ID+"/kill", "", nil)
				must.Succeed(t, err)
				killed.Body.Close()
				if killed.StatusCode != http.StatusNoContent {
					t.Fatalf("kill: %s", killed.Status)
				}
				return
			}
		}
	}
	t.Fatal("no container has the workspace")
}

// processesWith are the arguments of processes of this machine that have a text.
func processesWith(t *testing.T, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must.Succeed(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, filepath.Base(filepath.Dir(file))+" "+string(bytes.ReplaceAll(raw, []byte{0}, []byte(" "))))
		}
	}
	return found
}
