package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	thousand := 1000
	for _, c := range []struct {
		raw  string
		args string // "" for one that is refused
		port int
		user *int
		kind fault.Kind
	}{
		{`"/usr/local/bin/openhands-agent-server --port 60000"`, "agent-server --host 127.0.0.1 --port 60000", 60000, nil, ""},
		{`["/usr/local/bin/openhands-agent-server","--port","60000"]`, "agent-server --host 127.0.0.1 --port 60000", 60000, nil, ""},
		{`"openhands-agent-server --host 0.0.0.0 --port=7 --host=::"`, "agent-server --host 127.0.0.1 --port 7", 7, nil, ""},
		{`"/agent-server/.venv/bin/python -m openhands.agent_server --port 60000"`, "agent-server --host 127.0.0.1 --port 60000", 60000, nil, ""},
		{
			`["/openhands/micromamba/bin/micromamba","run","-n","openhands","poetry","run","python","-u","-m","openhands.runtime.action_execution_server","60000","--working-dir","/workspace","--plugins","agent_skills","jupyter","--username","openhands","--user-id","1000","--no-enable-browser"]`,
			"action-server 60000 --working-dir /workspace --plugins agent_skills jupyter --username openhands --no-enable-browser", 60000, &thousand, "",
		},
		{`"python3 -m openhands.runtime.action_execution_server 8000 --user-id=1000"`, "action-server 8000", 8000, &thousand, ""},
		{`["/usr/bin/deft","action-server","--workspace","/workspace","--mask","A B"]`, "action-server --workspace /workspace --mask A B", 60000, nil, ""},
		{`["python","--port","x"]`, "", 0, nil, fault.Invalid},
		{`["python","--port"]`, "", 0, nil, fault.Invalid},
		{`["python","--port=0"]`, "", 0, nil, fault.Invalid},
		{`["","x"]`, "", 0, nil, fault.Invalid},
		{`["a\u0000b"]`, "", 0, nil, fault.Invalid},
		{`"openhands-agent-server; id"`, "", 0, nil, fault.Unsupported},
		{`"openhands-agent-server $(id)"`, "", 0, nil, fault.Unsupported},
		{`["python","-m","openhands.runtime.action_execution_server"]`, "", 0, nil, fault.Invalid},
		{`["python","-m","openhands.runtime.action_execution_server","0"]`, "", 0, nil, fault.Invalid},
		{`["python","-m","openhands.runtime.action_execution_server","1","--user-id","me"]`, "", 0, nil, fault.Invalid},
		{`"openhands-agent-server --port 99999"`, "", 0, nil, fault.Invalid},
		{`""`, "", 0, nil, fault.Invalid},
		{`[]`, "", 0, nil, fault.Invalid},
		{`null`, "", 0, nil, fault.Invalid},
		{`7`, "", 0, nil, fault.Invalid},
		{`[7]`, "", 0, nil, fault.Invalid},
		{``, "", 0, nil, fault.Invalid},
	} {
		got, err := ParseCommand(json.RawMessage(c.raw))
		if c.args == "" {
			if !fault.Is(err, c.kind) {
				t.Errorf("%s: %+v, %v, want %s", c.raw, got, err, c.kind)
			}
			continue
		}
		if err != nil || strings.Join(got.Args, " ") != c.args || got.Port != c.port || (got.User == nil) != (c.user == nil) || got.User != nil && *got.User != *c.user {
			t.Errorf("%s: %+v, %v", c.raw, got, err)
		}
	}
}

// TestGiven: an unknown command is run unchanged, and its port is found.
func TestGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  string
		env  map[string]string
		args []string
		port int // 0 for an environment that is refused
	}{
		{`["deft","action-server","8000"]`, nil, []string{"deft", "action-server", "8000"}, 60000},
		{`"python -m http.server"`, nil, []string{"python", "-m", "http.server"}, 60000},
		{`"sh -m openhands.agent_server"`, nil, []string{"sh", "-m", "openhands.agent_server"}, 60000},
		{`["sh","-c","echo $X; exec serve --port 5"]`, map[string]string{"port": "7"}, []string{"sh", "-c", "echo $X; exec serve --port 5"}, 7},
		{`["serve","--port","8000"]`, map[string]string{"port": "7"}, []string{"serve", "--port", "8000"}, 8000},
		{`"serve --port=8000 x"`, map[string]string{"PORT": "x"}, []string{"serve", "--port=8000", "x"}, 8000},
		{`["serve"]`, map[string]string{"PORT": "8"}, []string{"serve"}, 8},
		{`["serve"]`, map[string]string{"PORT": "8", "port": "7"}, []string{"serve"}, 7},
		{`["serve"]`, map[string]string{"PORT": "tcp://x"}, nil, 0},
		{`["serve"]`, map[string]string{"port": ""}, nil, 0},
	} {
		got, err := ParseCommand(json.RawMessage(c.raw))
		if err != nil || !got.Given {
			t.Errorf("%s: %+v, %v", c.raw, got, err)
			continue
		}
		got, err = got.inEnvironment(c.env)
		if c.port == 0 && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s, %v: %+v, %v", c.raw, c.env, got, err)
		}
		if c.port != 0 && (err != nil || !slices.Equal(got.Args, c.args) || got.Port != c.port) {
			t.Errorf("%s, %v: %+v, %v", c.raw, c.env, got, err)
		}
	}
}

// FuzzParseCommand: whatever a client sends runs one of two programs of Deft, or is given, or
// is refused.
func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{`"openhands-agent-server --port 1"`, `["python","-m","openhands.runtime.action_execution_server","1","--user-id","2"]`, `{}`, `["-m"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ParseCommand(raw)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Invalid && k != fault.Unsupported {
				t.Fatalf("%v is of kind %s", err, k)
			}
			return
		}
		if !got.Given && !slices.Contains([]string{agentServer, actionServer}, got.Args[0]) || got.Args[0] == "" {
			t.Fatalf("%s runs %q", raw, got.Args)
		}
	})
}
