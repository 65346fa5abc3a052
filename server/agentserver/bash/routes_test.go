package bash_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	srv := serve(t, open(t, bash.Options{}).Routes())
	const zeros = "00000000000000000000000000000000"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // answer of the reference 1.58.0
	}{
		{"POST", "/api/bash/execute_bash_command", `{"command":"true","timeout":7.5}`, 422, `{"detail":[{"type":"int_from_float","loc":["body","timeout"],"msg":"Input should be a valid integer, got a number with a fractional part","input":7.5}]}`},
		{"POST", "/api/bash/execute_bash_command", `{"cwd":3}`, 422, `{"detail":[{"type":"missing","loc":["body","command"],"msg":"Field required","input":{"cwd":3}},{"type":"string_type","loc":["body","cwd"],"msg":"Input should be a valid string","input":3}]}`},
		{"POST", "/api/bash/start_bash_command", ``, 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`},
		{"GET", "/api/bash/bash_events/search?limit=0", "", 422, `{"detail":[{"type":"greater_than","loc":["query","limit"],"msg":"Input should be greater than 0","input":"0","ctx":{"gt":0}}]}`},
		{"GET", "/api/bash/bash_events/search?limit=101", "", 422, `{"detail":[{"type":"less_than_equal","loc":["query","limit"],"msg":"Input should be less than or equal to 100","input":"101","ctx":{"le":100}}]}`},
		{"GET", "/api/bash/bash_events/search?kind__eq=z&command_id__eq=zz", "", 422, `{"detail":[{"type":"literal_error","loc":["query","kind__eq"],"msg":"Input should be 'BashCommand' or 'BashOutput'","input":"z","ctx":{"expected":"'BashCommand' or 'BashOutput'"}},{"type":"uuid_parsing","loc":["query","command_id__eq"],"msg":"Input should be a valid UUID, invalid character: found ` + "`z`" + ` at 1","input":"zz","ctx":{"error":"invalid character: found ` + "`z`" + ` at 1"}}]}`},
		{"GET", "/api/bash/bash_events/search", "", 200, `{"items":[],"next_page_id":null}`},
		{"GET", "/api/bash/bash_events/zzz", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/api/bash/bash_events/..%2f..%2fetc", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/api/bash/bash_events/a%00b", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/api/bash/bash_events/", `["zz"]`, 200, `[null]`},
		{"GET", "/api/bash/bash_events/", `[]`, 200, `[]`},
		{"GET", "/api/bash/bash_events/", `["zz",3]`, 422, `{"detail":[{"type":"string_type","loc":["body",1],"msg":"Input should be a valid string","input":3}]}`},
		{"GET", "/api/bash/bash_events/", `{"a":1}`, 422, `{"detail":[{"type":"list_type","loc":["body"],"msg":"Input should be a valid list","input":{"a":1}}]}`},
		{"POST", "/api/bash/start_bash_command", `null`, 422, `{"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":null}]}`},
		{"GET", "/api/bash/bash_events/", ``, 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`},
		{"POST", "/api/bash/bash_commands/zz/stop", "", 422, `{"detail":[{"type":"uuid_parsing","loc":["path","command_id"],"msg":"Input should be a valid UUID, invalid character: found ` + "`z`" + ` at 1","input":"zz","ctx":{"error":"invalid character: found ` + "`z`" + ` at 1"}}]}`},
		{"POST", "/api/bash/bash_commands/" + zeros + "/stop", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/api/bash/bash_events", "", 405, `{"detail":"Method Not Allowed"}`},
		{"DELETE", "/api/bash/bash_events", "", 200, `{"cleared_count":0}`},
	} {
		status, body := call(t, srv, c.method, c.path, c.body)
		if status != c.status || body != c.want {
			t.Errorf("%s %s %s\n got %d %s\nwant %d %s", c.method, c.path, c.body, status, body, c.status, c.want)
		}
	}
}

// TestPolling walks as the SDK's execute_command does: an id must never come
// twice (docs/openhands/sdk-wire.md section 0.9).
func TestPolling(t *testing.T) {
	t.Parallel()
	s := open(t, bash.Options{})
	f, err := s.Subscribe(bash.FromNow) // so that output is streamed
	must.Succeed(t, err)
	defer f.Close()
	srv := serve(t, s.Routes())
	fifo := filepath.Join(t.TempDir(), "go")
	status, body := call(t, srv, "POST", "/api/bash/start_bash_command", `{"command":"cd `+filepath.Dir(fifo)+`; mkfifo go1 go2 go3; for i in 1 2 3; do echo $i; read x < go$i; done; echo e >&2","timeout":"60"}`)
	if status != http.StatusOK {
		t.Fatal(body)
	}
	cmd := parse(t, json.RawMessage(body))
	if cmd.Timeout != 60 || cmd.Cwd != nil || cmd.Kind != "BashCommand" || len(cmd.ID) != 32 || !strings.HasSuffix(cmd.Timestamp, "Z") {
		t.Fatalf("command %s", body)
	}
	seen := map[string]bool{}
	var stdout string
	query := "/api/bash/bash_events/search?kind__eq=BashOutput&sort_order=TIMESTAMP&limit=100&command_id__eq=" + cmd.ID
	after, ended := "", false
	for next(t, f); !ended; { // each event wakes a look
		next(t, f)
		_, body := call(t, srv, "GET", query+after, "")
		var page struct {
			Items []event
			Next  *string `json:"next_page_id"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || page.Next != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for _, e := range page.Items {
			if seen[e.ID] {
				t.Errorf("%s came twice", e.ID)
			}
			seen[e.ID] = true
			if e.Stdout != nil {
				stdout += *e.Stdout
			}
			ended = ended || e.ExitCode != nil
			after = "&order__gt=" + string(rune('0'+e.Order))
		}
		if !ended {
			must.Succeed(t, os.WriteFile(fifo+strconv.Itoa(len(seen)), []byte("\n"), 0))
		}
	}
	if stdout != "1\n2\n3\n" || len(seen) != 4 {
		t.Errorf("got %q in %d events", stdout, len(seen))
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	base, ws := t.TempDir(), t.TempDir()
	must.Succeed(t, os.Symlink("/", filepath.Join(ws, "out")))
	scopes := bash.NewScopes(bash.ScopeOptions{
		Dir: func(id string) string { return filepath.Join(base, id, "bash_events") }, MaxIdle: 1,
	})
	t.Cleanup(func() { must.Report(t, scopes.Close()) })
	const a, b = "0000000000000000000000000000000a", "0000000000000000000000000000000b"
	srv := serve(t, scopes.Routes(func(_ context.Context, id string) (workspacescope.Workspace, error) {
		if id != a && id != b {
			return nil, fault.New(fault.NotFound, "Conversation not found")
		}
		return workspacescope.Directory(ws), nil
	}))
	run := func(id, body string) (int, string) {
		return call(t, srv, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", body)
	}
	for _, c := range []struct {
		body   string
		status int
	}{
		{`{"command":"pwd"}`, 200},
		{`{"command":"pwd","cwd":"` + ws + `/sub/.."}`, 200},
		{`{"command":"pwd","cwd":"` + ws + `/out"}`, 422},
		{`{"command":"pwd","cwd":"/tmp"}`, 422},
		{`{"command":"pwd","cwd":"` + ws + `/../x"}`, 422},
		{`{"command":"pwd","cwd":"` + ws + `x"}`, 422},
		{`{"command":"pwd","cwd":"` + ws + `\u0000"}`, 422},
	} {
		status, body := run(a, c.body)
		if status != c.status {
			t.Errorf("%s: %d %s", c.body, status, body)
		}
		if status == 422 && body != `{"detail":"cwd must be inside the conversation workspace"}` {
			t.Error(body)
		}
	}
	_, body := run(a, `{"command":"pwd"}`)
	if e := parse(t, json.RawMessage(body)); str(e.Stdout) != ws+"\n" {
		t.Errorf("a conversation's command runs in %q", str(e.Stdout))
	}
	if _, body := call(t, srv, "GET", "/api/conversations/"+b+"/bash/bash_events/search", ""); body != `{"items":[],"next_page_id":null}` {
		t.Errorf("the history of another conversation: %s", body)
	}
	if files, err := filepath.Glob(filepath.Join(base, a, "bash_events", "*")); len(files) != 6 || err != nil {
		t.Errorf("stored: %v %v", files, err)
	}
	if status, body := run("0000000000000000000000000000000c", `{"command":"pwd"}`); status != 404 || body != `{"detail":"Conversation not found"}` {
		t.Errorf("unknown conversation: %d %s", status, body)
	}
	if status, body := run("zz", `{}`); status != 422 || !strings.Contains(body, `["path","runtime_conversation_id"]`) {
		t.Errorf("no id: %d %s", status, body)
	}
	must.Report(t, scopes.Drop(t.Context(), a))
}
