package registry

import (
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// TestProgram: the small program does all that it can.
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, small, want string }{
		{`["openhands-agent-server", "--port", "60000"]`, "/small", "/large"},
		{`["python", "-m", "openhands.runtime.action_execution_server", "60000"]`, "/small", "/small"},
		{`["deft", "action-server", "--workspace", "/workspace"]`, "/small", "/small"},
		{`["agent-server"]`, "/small", "/small"}, // a program of the client
		{`["sh", "-c", "true"]`, "", "/large"},
	} {
		command, err := ParseCommand([]byte(c.command))
		must.Succeed(t, err)
		r := &Registry{o: Options{Self: "/large", Small: c.small}}
		if got := r.program(command); got != c.want {
			t.Errorf("%s: %s, want %s", c.command, got, c.want)
		}
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	own, other := os.Geteuid(), os.Geteuid()+4711
	limits := sandbox.Limits{MemoryBytes: 1 << 30, CPUs: 2, PIDs: 7}
	for _, c := range []struct {
		name       string
		containers bool
		limits     sandbox.Limits
		ignore     []string
		q          Request
		refused    string // the field
	}{
		{name: "nothing", q: Request{}},
		{name: "image of a process", q: Request{Image: "i"}, refused: FieldImage},
		{name: "image passed over", q: Request{Image: "i"}, ignore: []string{FieldImage}},
		{name: "image", q: Request{Image: "i", Pull: sandbox.PullNever, RuntimeClass: "runsc"}, containers: true},
		{name: "pull of a process", q: Request{Pull: sandbox.PullMissing}, refused: FieldPull},
		{name: "runtime of a process", q: Request{RuntimeClass: "runsc"}, refused: FieldRuntime},
		{name: "own user", q: Request{User: &own}},
		{name: "own user of the command", q: Request{Command: Command{User: &own}}},
		{name: "other user", q: Request{User: &other}, refused: FieldUser},
		{name: "other user of the command", q: Request{Command: Command{User: &other}}, refused: FieldUser},
		{name: "other user passed over", q: Request{User: &other}, ignore: []string{FieldUser}},
		{name: "other group", q: Request{Group: &other}, refused: FieldGroup},
		{name: "other group of files", q: Request{FSGroup: &other}, refused: FieldFSGroup},
		{name: "factor without limits", q: Request{Factor: 2}, refused: FieldFactor},
		{name: "factor", q: Request{Factor: 2}, limits: limits},
		{name: "negative factor", q: Request{Factor: -1}, limits: limits, refused: FieldFactor},
		{name: "huge factor", q: Request{Factor: 1e9}, limits: limits, refused: FieldFactor},
	} {
		r := &Registry{o: Options{Containers: c.containers, Limits: c.limits, Ignore: c.ignore}}
		got, err := r.class(&c.q)
		if c.refused != "" {
			if !fault.Is(err, fault.Unsupported) || !strings.HasPrefix(err.Error(), c.refused+": ") || !strings.Contains(fault.HintOf(err), "--ignore "+c.refused) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, field := range c.ignore {
			if field == FieldImage && got.Image != "" || field == FieldUser && got.User != nil {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
	}
	r := &Registry{o: Options{Containers: true}}
	if _, err := r.class(&Request{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a container without an image: %v", err)
	}
	one, err := r.class(&Request{Image: "i", Pull: sandbox.PullMissing})
	two, err2 := r.class(&Request{Image: "i", Factor: 1})
	if err != nil || err2 != nil || one.name() != two.name() {
		t.Errorf("one image has two classes: %s, %s, %v, %v", one.name(), two.name(), err, err2)
	}
	if got := scaled(limits, 2); got != (sandbox.Limits{MemoryBytes: 2 << 30, CPUs: 4, PIDs: 7}) {
		t.Errorf("%+v", got)
	}
	if got := scaled(sandbox.Limits{MemoryBytes: -1}, 2); got.MemoryBytes != -1 {
		t.Errorf("no limit became one: %+v", got)
	}
	a, b := 5, 6
	for want, groups := range map[string][]*int{"1:1": {nil, nil}, "1:5": {&a, &b}, "1:6": {nil, &b}} {
		if got := userOf(1, groups...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
