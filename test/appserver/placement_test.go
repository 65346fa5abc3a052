package appserver_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlacement: where conversations are placed that name no sandbox, by the server's
// strategy and by one that the user has chosen. A is the older one of two sandboxes.
func TestPlacement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, user, want string }{
		"none":                         {"NO_GROUPING", "", "1 2 3"},
		"newest":                       {"GROUP_BY_NEWEST", "", "B B B"},
		"least recently used":          {"LEAST_RECENTLY_USED", "", "A B A"},
		"fewest":                       {"FEWEST_CONVERSATIONS", "", "B A B"},
		"any":                          {"ADD_TO_ANY", "", "B B B"},
		"the user's, not the server's": {"GROUP_BY_NEWEST", "LEAST_RECENTLY_USED", "A B A"},
		"the user wants none":          {"GROUP_BY_NEWEST", "NO_GROUPING", "1 2 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, `{turns: []}`, options{args: []string{"--sandbox-grouping", c.server}})
			if c.user != "" {
				d.owner.do(t, "POST", d.url+"/api/v1/settings", map[string]any{"sandbox_grouping_strategy": c.user}, nil)
			}
			names := map[string]string{}
			for _, name := range []string{"A", "B"} {
				var made box
				d.owner.do(t, "POST", d.url+"/api/v1/sandboxes", nil, &made)
				names[made.ID] = name
			}
			var got []string
			for range 3 {
				one, _ := d.begin(t, map[string]any{})
				if names[one.Sandbox] == "" {
					names[one.Sandbox] = strconv.Itoa(len(names) - 1)
				}
				got = append(got, names[one.Sandbox])
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSandboxOfFailedStart: a conversation that could not be started leaves no sandbox, which
// would count for the limit of its user; one that was there before stays.
func TestSandboxOfFailedStart(t *testing.T) {
	t.Parallel()
	d := deploy(t, `{turns: []}`, options{args: []string{"--max-sandboxes", "1"}})
	fails := func(request map[string]any) task {
		var tasks []task
		request["selected_repository"] = "https://127.0.0.1:1/r.git"
		d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", request, &tasks)
		return tasks[len(tasks)-1]
	}
	for range 2 {
		if last := fails(map[string]any{}); last.Status != "ERROR" || !strings.Contains(last.Detail, "127.0.0.1:1") || last.Sandbox != "" {
			t.Errorf("%+v", last)
		}
	}
	var mine box
	d.owner.do(t, "POST", d.url+"/api/v1/sandboxes", nil, &mine)
	if last := fails(map[string]any{"sandbox_id": mine.ID}); last.Status != "ERROR" || last.Sandbox != mine.ID {
		t.Errorf("%+v", last)
	}
	var left struct{ Items []box }
	d.owner.do(t, "GET", d.url+"/api/v1/sandboxes/search", nil, &left)
	if len(left.Items) != 1 || left.Items[0].ID != mine.ID {
		t.Errorf("%+v", left.Items)
	}
}

// TestLeftSandbox: processes that a killed server has left running for a conversation end
// when its sandbox is paused by the next server, and when it is deleted.
func TestLeftSandbox(t *testing.T) {
	t.Parallel()
	const script = `
turns:
  - {match: {system: You name conversations}, repeat: forever, reply: {text: A title}}
  - {match: {tool_results: 0}, repeat: forever, reply: {tool_calls: [{name: terminal, arguments: {command: echo done}}]}}
  - {repeat: forever, reply: {text: it is done}}
`
	for name, c := range map[string]struct {
		of  func(t *testing.T) options
		one func(t *testing.T, d deployment, id string) string // identifies the processes of a conversation
	}{
		"process": {func(*testing.T) options { return options{} }, processOf},
		"docker": {func(t *testing.T) options {
			return options{args: []string{"--sandbox", "docker", "--image", image, "--pull", "never"}, env: []string{"DOCKER_HOST=" + engine(t)}}
		}, containerOf},
	} {
		for what, end := range map[string]struct{ method, path string }{"pause": {"POST", "/pause"}, "delete": {"DELETE", ""}} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				o := c.of(t)
				d := deploy(t, script, o)
				got, _ := d.begin(t, map[string]any{"initial_message": text("go")})
				d.follow(t, got, "finished")
				if c.one(t, d, got.ID) == "" {
					t.Fatal("nothing runs for the conversation")
				}
				d.kill(t)
				d = d.again(t, o)
				d.owner.do(t, end.method, d.url+"/api/v1/sandboxes/"+got.Sandbox+end.path, nil, nil)
				if is := c.one(t, d, got.ID); is != "" {
					t.Errorf("it is left: %s", is)
				}
			})
		}
	}
}
