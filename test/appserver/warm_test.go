package appserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
)

// waits is a server's description of a sandbox in its pool.
const waits = "a sandbox waits in the pool"

// warmScript waits until the test has looked at the sandbox.
const warmScript = `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo made >made; echo x >begun; read x <go; cat made"}}]}
  - reply: {text: it is made}
`

// TestWarm: a conversation takes a sandbox that was started before there was the
// conversation. Sandboxes of a killed server are removed, and a server that was stopped
// leaves none.
func TestWarm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of  func(t *testing.T) options
		one func(t *testing.T, d deployment, id string) string // identifies the processes of a sandbox
	}{
		"process":  {func(*testing.T) options { return options{} }, processOf},
		"postgres": {func(t *testing.T) options { return options{database: postgrestest.URL(t)} }, processOf},
		"docker": {func(t *testing.T) options {
			return options{args: []string{"--sandbox", "docker", "--image", image, "--pull", "never"}, env: []string{"DOCKER_HOST=" + engine(t)}}
		}, containerOf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.of(t)
			o.args = append(o.args, "--warm", "1", "--log-level", "debug")
			o.awaited = []string{waits}
			d := deploy(t, warmScript, o)
			d.await(t, waits)
			ready := d.pool(t)
			if len(ready) != 1 {
				t.Fatalf("%q wait", ready)
			}
			pipes(t, d.workspace(ready[0]), "begun", "go")
			before := c.one(t, d, ready[0])
			got, _ := d.begin(t, map[string]any{"initial_message": text("make it")})
			if diff := cmp.Diff([2]string{ready[0], ready[0]}, [2]string{strings.ReplaceAll(got.ID, "-", ""), got.Sandbox}); diff != "" {
				t.Fatalf("the conversation and its sandbox (-that waited +got):\n%s", diff)
			}
			waitFor(t, filepath.Join(d.workspace(got.Sandbox), "begun"))
			if after := c.one(t, d, ready[0]); after != before || before == "" {
				t.Errorf("it works in %q, and %q had waited", after, before)
			}
			tell(t, filepath.Join(d.workspace(got.Sandbox), "go"))
			if last := observed(d.follow(t, got, "finished")); last != "made" {
				t.Errorf("the action says %q", last)
			}

			// A conversation that names its id, or its sandbox, gets none of the pool.
			const named = "0f0e0d0c-0b0a-4908-8706-050403020100"
			if other, _ := d.begin(t, map[string]any{"conversation_id": named}); strings.ReplaceAll(named, "-", "") != other.ID {
				t.Errorf("the conversation is %s", other.ID)
			}
			if same, _ := d.begin(t, map[string]any{"sandbox_id": got.Sandbox}); same.Sandbox != got.Sandbox || same.ID == got.ID {
				t.Errorf("the conversation is %+v", same)
			}

			d.refilled(t, ready[0])
			left := d.pool(t)
			if len(left) != 1 || left[0] == ready[0] {
				t.Fatalf("after the start %q wait", left)
			}
			d.kill(t)
			d = d.again(t, o)
			d.await(t, waits)
			if now := d.pool(t); len(now) != 1 || now[0] == left[0] {
				t.Errorf("after a crash %q wait, before it %q", now, left)
			}
			if is := c.one(t, d, left[0]); is != "" {
				t.Errorf("what has waited before the crash is left: %s", is)
			}
			if _, err := os.Stat(d.workspace(left[0])); !os.IsNotExist(err) {
				t.Errorf("its workspace is left: %v", err)
			}
			last := d.pool(t)
			d.deleteAll(t)
			d.stop(t)
			if now := d.pool(t); len(now) != 0 {
				t.Errorf("a server that was stopped has left %q", now)
			}
			for _, id := range last {
				if is := c.one(t, d, id); is != "" {
					t.Errorf("the sandbox %s is left: %s", id, is)
				}
			}
		})
	}
}

// TestWarmLimit: a start that is refused leaves nothing of the sandbox that it has claimed.
func TestWarmLimit(t *testing.T) {
	t.Parallel()
	d := deploy(t, warmScript, options{args: []string{"--warm", "1", "--max-sandboxes", "1", "--log-level", "debug"}, awaited: []string{waits}})
	d.await(t, waits)
	first := d.pool(t)
	got, _ := d.begin(t, map[string]any{})
	if got.Sandbox != first[0] {
		t.Fatalf("it is in %s, and %q waited", got.Sandbox, first)
	}
	d.refilled(t, first[0])
	second := d.pool(t)
	var refused task
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations", map[string]any{}, &refused)
	for refused.Status != "ERROR" {
		var found []*task
		d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks?ids="+refused.ID, nil, &found)
		refused = *found[0]
	}
	if !strings.Contains(refused.Detail, "as many sandboxes") {
		t.Errorf("the start says %q", refused.Detail)
	}
	if _, err := os.Stat(d.workspace(second[0])); !os.IsNotExist(err) {
		t.Errorf("its workspace is left: %v", err)
	}
	if is := processOf(t, d, second[0]); is != "" {
		t.Errorf("its process is left: %s", is)
	}
}

// pool returns the ids of the sandboxes that wait, or are being started for it.
func (d deployment) pool(t *testing.T) (ids []string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Join(d.data, "events", "app", "warm"))
	must.Succeed(t, err)
	for _, e := range found {
		ids = append(ids, e.Name())
	}
	return ids
}

// refilled returns when another sandbox waits than one that has left the pool.
func (d deployment) refilled(t *testing.T, before string) {
	t.Helper()
	waittest.Until(t, "a sandbox in the place of "+before, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return strings.Count(d.said.String(), waits) > 1
	})
}

// processOf identifies the built-in sandbox of a conversation; "" if there is none.
func processOf(t *testing.T, d deployment, id string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.data, "events", "sandboxes", id, "state.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

// containerOf identifies the container of a conversation; "" if there is none.
func containerOf(t *testing.T, _ deployment, id string) string {
	t.Helper()
	socket := strings.TrimPrefix(engine(t), "unix://")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", `http://engine/containers/json?all=true&filters={"label":["dev.deft.sandbox=`+id+`"]}`, nil)
	must.Succeed(t, err)
	res, err := c.Do(r)
	must.Succeed(t, err)
	defer res.Body.Close()
	var found []struct{ ID string }
	must.Succeed(t, json.NewDecoder(res.Body).Decode(&found))
	var ids []string
	for _, one := range found {
		ids = append(ids, one.ID)
	}
	return strings.Join(ids, " ")
}
