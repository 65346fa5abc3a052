package appserver_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/tool/ipython/kerneltest"
)

// v0Trajectory is one of V0 in whose middle a test and a command wait for each other.
const v0Trajectory = `[
{"id":0,"source":"agent","action":"system","args":{"content":"You are"}},
{"id":1,"source":"user","action":"message","args":{"content":"make it"}},
{"id":2,"source":"agent","action":"run","args":{"command":"mkfifo begun go; echo one >>made"}},
{"id":3,"source":"agent","observation":"run","content":"","cause":2,"extras":{"command":"mkfifo begun go; echo one >>made","metadata":{"working_dir":"/workspace"}}},
{"id":4,"source":"agent","action":"run","args":{"command":"echo x >/workspace/begun; read x </workspace/go; echo two >>made"}},
{"id":5,"source":"agent","action":"edit","args":{"command":"create","path":"/workspace/new","file_text":"content","impl_source":"oh_aci"}},
{"id":6,"source":"agent","action":"finish","args":{"final_thought":"it is made"}}
]`

// v0Of is a client of the V0 routes of a deployment.
func v0Of(t *testing.T, d deployment) *v0 { return &v0{client: d.owner, t: t, server: d.url} }

// TestV0Replay: a trajectory of V0 is replayed in a new conversation, without a model; a server
// that is killed goes on with it.
func TestV0Replay(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]func(t *testing.T) options{
		"sqlite":   func(*testing.T) options { return options{} },
		"postgres": func(t *testing.T) options { return options{database: postgrestest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o(t)
			d := deploy(t, `{turns: []}`, o)
			c := v0Of(t, d)
			for _, bad := range []map[string]any{{"replay_json": v0Trajectory, "initial_user_msg": "and this"}, {"replay_json": v0Trajectory + "]"}} {
				if raw := c.call(http.StatusUnprocessableEntity, "POST", "/api/conversations", bad, nil); strings.Contains(string(raw), "mkfifo") {
					t.Errorf("what is refused is repeated, which may be large: %s", raw)
				}
			}
			c.create(map[string]any{"replay_json": v0Trajectory})
			// A message before its end is none of the recording's, also while it is started.
			if raw := c.call(http.StatusConflict, "POST", "events", said("hello"), nil); !strings.Contains(string(raw), "replays") {
				t.Errorf("a message: %s", raw)
			}
			var made conversation
			waittest.Until(t, "the replay runs", func() bool {
				var found []*conversation
				d.owner.do(t, "GET", d.url+"/api/v1/app-conversations?ids="+c.id, nil, &found)
				if found[0] != nil {
					made = *found[0]
				}
				return made.Sandbox != "" && made.Status != "idle"
			})
			workspace := d.workspace(made.Sandbox)
			waittest.Until(t, "the first command is done", func() bool {
				_, err := os.Stat(filepath.Join(workspace, "go"))
				return err == nil
			})
			waitFor(t, filepath.Join(workspace, "begun"))
			d.kill(t)
			d = d.again(t, o)
			tell(t, filepath.Join(workspace, "go"))
			d.follow(t, d.conversation(t, c.id), "finished")
			for file, want := range map[string]string{"made": "one\ntwo\n", "new": "content"} {
				if raw, err := os.ReadFile(filepath.Join(workspace, file)); strings.TrimSpace(string(raw)) != strings.TrimSpace(want) || err != nil {
					t.Errorf("%s is %q, %v", file, raw, err)
				}
			}
			if n := d.llm.Count(); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
			if left, err := filepath.Glob(filepath.Join(d.data, "files", "replays", "start-*")); len(left) > 0 || err != nil {
				t.Errorf("what was to be replayed is left: %q, %v", left, err)
			}
		})
	}
}

// TestV0ReplayOfCells: cells of a trajectory run in a kernel again, which keeps its variables.
func TestV0ReplayOfCells(t *testing.T) {
	t.Parallel()
	kernel := kerneltest.Dir(t)
	python, err := filepath.EvalSymlinks(filepath.Join(kernel, "bin", "python3"))
	must.Succeed(t, err)
	readable := kernel
	if dir := filepath.Dir(filepath.Dir(python)); !strings.HasPrefix(dir, "/usr") {
		readable += ":" + dir
	}
	d := deploy(t, `{turns: []}`, options{env: []string{"PATH=" + filepath.Join(kernel, "bin") + ":/usr/bin:/bin", "DEFT_SANDBOX_READ=" + readable}})
	c := v0Of(t, d)
	c.create(map[string]any{"replay_json": `[
{"id":1,"source":"user","action":"message","args":{"content":"count"}},
{"id":2,"source":"agent","action":"run_ipython","args":{"code":"n = 6 * 7","thought":"I count."}},
{"id":3,"source":"agent","observation":"run_ipython","content":"","cause":2,"extras":{}},
{"id":4,"source":"agent","action":"run_ipython","args":{"code":"n"}},
{"id":5,"source":"agent","action":"finish","args":{"final_thought":"it is counted"}}
]`})
	d.started(t, c.id)
	var cells []string
	for _, e := range d.follow(t, d.conversation(t, c.id), "finished") {
		if e.Kind == "ObservationEvent" && len(e.Observation.Content) > 0 {
			cells = append(cells, e.Observation.Content[0].Text)
		}
	}
	if !slices.Contains(cells, "42") {
		t.Errorf("the cells say %q", cells)
	}
}

// mcpProgram is an MCP server with one tool, which tells an environment variable.
const mcpProgram = `while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"weather","description":"tells it","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"sunny in '$TOWN'"}]}' ;;
    *) continue ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done`

// TestV0MCPConfig: the MCP servers of a start belong to its conversation, in the place of
// the settings' servers, and to no other one.
func TestV0MCPConfig(t *testing.T) {
	t.Parallel()
	d := join(t, `
by_history: true
default: {reply: {text: a title}}
turns:
  - {match: {user: how is it, tool_results: 0, tools: [weather]}, reply: {tool_calls: [{name: weather, arguments: {}}]}}
  - {match: {user: how is it, tool_results: 1, tools: [weather]}, reply: {text: fine}}
`)
	servers := func(town string) map[string]any {
		return map[string]any{"stdio_servers": []any{map[string]any{"name": "w", "command": "bash", "args": []string{"-c", mcpProgram}, "env": map[string]string{"TOWN": town}}}}
	}
	c := v0Of(t, d)
	c.call(http.StatusOK, "POST", "/api/v1/settings", map[string]any{"mcp_config": servers("Ulm")}, nil)
	for _, test := range []struct {
		body map[string]any
		want string
	}{
		{map[string]any{"initial_user_msg": "how is it", "mcp_config": servers("Bonn")}, "sunny in Bonn"},
		{map[string]any{"initial_user_msg": "how is it"}, "sunny in Ulm"},
		{map[string]any{"initial_user_msg": "how is it", "mcp_config": map[string]any{}}, ""}, // it has none
	} {
		c.create(test.body)
		id := c.id
		d.started(t, id)
		all := d.follow(t, d.conversation(t, id), "finished")
		raw, err := json.Marshal(all)
		must.Succeed(t, err)
		if test.want == "" && strings.Contains(string(raw), "sunny") || !strings.Contains(string(raw), test.want) {
			t.Errorf("%v: the events are %s", test.body["mcp_config"], raw)
		}
	}
}
