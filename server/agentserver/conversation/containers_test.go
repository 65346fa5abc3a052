package conversation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// containers are the containers of some conversations.
type containers struct {
	states map[event.ConversationID]sandbox.Status
	err    error
	asked  int
}

func (c *containers) SandboxStatus(_ context.Context, _ session.Placement, id event.ConversationID) (sandbox.Status, error) {
	if s, ok := c.states[id]; ok || c.err != nil {
		return s, c.err
	}
	return sandbox.Status{}, fault.New(fault.NotFound, "none runs")
}

func (c *containers) SandboxStates(context.Context, session.Placement) (map[event.ConversationID]sandbox.Status, error) {
	c.asked++
	return c.states, c.err
}

func (c *containers) StopSandbox(context.Context, session.Placement, event.ConversationID) error {
	return c.err
}

// contain has conversations of f get a container each.
func (f *fixture) contain(c *containers, keys ...string) {
	f.service = conversation.New(conversation.Options{
		Sessions: f.Manager.All(), Settings: f, Sealed: f.ring, CheckClientTool: anyTool, Keys: func() []string { return keys },
		Containers: &conversation.Containers{
			Sandboxes: c, Docker: session.Placement{SandboxClass: "docker"}, Local: session.Placement{SandboxClass: "process"}, Default: true, Selectable: true,
		},
	})
}

// TestCredentials: the answer has no other key than the one that admitted the request.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys []string
		sent string
		want string
	}{
		"no keys":             {nil, "", `{"session_api_key":""}`},
		"what nobody checked": {nil, "<script>", `{"session_api_key":""}`},
		"a key":               {[]string{"one", "two"}, "two", `{"session_api_key":"two"}`},
		"another key":         {[]string{"one", "two"}, "three", `{"session_api_key":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, nil, nil)
			f.contain(&containers{}, tt.keys...)
			c := f.begin(t)
			code, got := f.serve(t)("POST", "/"+string(c.ID())+"/runtime/credentials", "", rest.KeyHeader, tt.sent)
			if code != 200 || got != tt.want {
				t.Errorf("%d %s, want %s", code, got, tt.want)
			}
		})
	}
}

// TestRuntimeInfo: descriptions of conversations say how their containers are, and the
// engine is asked once for all of them.
func TestRuntimeInfo(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, nil)
	c := &containers{states: map[event.ConversationID]sandbox.Status{}}
	f.contain(c)
	running, paused, none := f.begin(t), f.begin(t), f.begin(t)
	c.states[running.ID()] = sandbox.Status{State: sandbox.Running}
	c.states[paused.ID()] = sandbox.Status{State: sandbox.Paused}
	ask := f.serve(t)
	if code, text := ask("POST", "", f.body(t, `"conversation_runtime":"local"`)); code != 201 {
		t.Fatalf("%d %s", code, text)
	}
	const field = `"runtime_info":`
	infos := func(text string) (out []string) {
		for _, part := range strings.Split(text, field)[1:] {
			info, _, _ := strings.Cut(part, "}}")
			out = append(out, info+"}")
		}
		return out
	}
	const (
		local     = `{"runtime_status":"available","can_resume":true,"runtime_error":null}`
		isRunning = `{"runtime_status":"available","can_resume":true,"runtime_error":null,"sandbox_state":"running"}`
		isPaused  = `{"runtime_status":"available","can_resume":true,"runtime_error":null,"sandbox_state":"paused"}`
		missing   = `{"runtime_status":"missing","can_resume":true,"runtime_error":null}`
	)
	_, text := ask("GET", "/search?sort_order=CREATED_AT", "")
	if got, want := strings.Join(infos(text), "\n"), strings.Join([]string{isRunning, isPaused, missing, local}, "\n"); got != want {
		t.Errorf("the list says\n%s\nwant\n%s", got, want)
	}
	if c.asked != 1 {
		t.Errorf("the engine was asked %d times for one list", c.asked)
	}
	for id, want := range map[event.ConversationID]string{running.ID(): isRunning, paused.ID(): isPaused, none.ID(): missing} {
		if _, text := ask("GET", "/"+string(id)+"/runtime", ""); text != want {
			t.Errorf("the runtime of %s is %s, want %s", id, text, want)
		}
		if _, text := ask("GET", "/"+string(id), ""); strings.Join(infos(text), "\n") != want {
			t.Errorf("%s, want %s", infos(text), want)
		}
	}
	c.err = fault.New(fault.Unavailable, "reach the engine").Hint("start it")
	const failed = `{"runtime_status":"error","can_resume":true,"runtime_error":{"code":"unavailable","message":"reach the engine; start it"}}`
	_, text = ask("GET", "?ids="+string(none.ID())+"&ids="+string(event.NewConversationID()), "")
	if !strings.Contains(text, field+failed+"},null]") {
		t.Errorf("without an engine: %s, want %s", infos(text), failed)
	}
}

// TestArchived: a conversation that was archived is read, and answers 410 where it would
// have to work.
func TestArchived(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, nil)
	f.contain(&containers{})
	id := f.begin(t).ID()
	n, err := f.ArchiveUnused(t.Context(), time.Now().Add(time.Hour), func(p session.Placement) bool { return p.SandboxClass == "docker" })
	if err != nil || n != 1 {
		t.Fatalf("%d archived, %v", n, err)
	}
	ask := f.serve(t)
	const message = `{"role":"user","run":true,"content":[{"type":"text","text":"go on"}]}`
	for path, body := range map[string]string{"/events": message, "/run": "", "/runtime/reprovision": "", "/runtime/credentials": "", "/fork": "{}"} {
		code, text := ask("POST", "/"+string(id)+path, body)
		if code != 410 || text != `{"detail":"Conversation runtime was archived; its history is read-only"}` {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	const field = `"runtime_status":"missing","can_resume":false,"runtime_error":{"code":"archived",`
	for path, want := range map[string]string{"/runtime": field, "": field, "/events/search": `"items":`} {
		if code, text := ask("GET", "/"+string(id)+path, ""); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if _, text := ask("GET", "/search", ""); !strings.Contains(text, field) {
		t.Errorf("the list says %s", text)
	}
	if code, text := ask("DELETE", "/"+string(id), ""); code != 200 {
		t.Errorf("delete: %d %s", code, text)
	}
}
