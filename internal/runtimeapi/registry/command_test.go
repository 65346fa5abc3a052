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
		{`["deft","action-server","8000"]`, "", 0, nil, fault.Unsupported},
		{`["deft","agent-server","--workspace","x"]`, "", 0, nil, fault.Unsupported},
		{`["deft"]`, "", 0, nil, fault.Unsupported},
		{`"python -m http.server"`, "", 0, nil, fault.Unsupported},
		{`"sh -m openhands.agent_server"`, "", 0, nil, fault.Unsupported},
		{`["bash","-c","openhands-agent-server"]`, "", 0, nil, fault.Unsupported},
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

// FuzzParseCommand: whatever a client sends runs one of two programs, or is refused.
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
		if !slices.Contains([]string{agentServer, actionServer}, got.Args[0]) {
			t.Fatalf("%s runs %q", raw, got.Args)
		}
	})
}
