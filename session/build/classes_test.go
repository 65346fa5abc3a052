package build_test

import (
	"context"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/think"
)

func request(t *testing.T) session.BuildRequest {
	t.Helper()
	a, err := spec.DecodeAgent([]byte(`{"kind":"Agent","llm":{"model":"m"},"tools":[{"name":"terminal"},{"name":"no_such_tool"},{"name":"own_tool"}]}`), schema.Reading{})
	must.Succeed(t, err)
	return session.BuildRequest{
		ID: event.NewConversationID(), Workspace: t.TempDir(), Agent: a,
		Tasks: func() []event.TaskItem { return nil },
	}
}

// TestClasses builds conversations from the classes that they, the environment
// or none is chosen, and refuses those that are not registered.
func TestClasses(t *testing.T) {
	t.Parallel()
	var made []string
	classes := func() build.Classes {
		c := build.StandardClasses()
		codeAct, local := c.Agents[build.CodeActAgent], c.Runtimes[build.LocalRuntime]
		c.Agents["Mine"] = func(a build.AgentConfig) (session.Agent, error) {
			made = append(made, "agent")
			return codeAct(a)
		}
		c.Runtimes["mine"] = func(ctx context.Context, r build.RuntimeConfig) (build.Execution, error) {
			made = append(made, "runtime "+r.Request.ExecutorClass)
			return local(ctx, r)
		}
		return c
	}
	own := classes()
	own.Tools = map[string]*tool.Definition{"own_tool": think.Definition()}
	env := func(name string) string { return map[string]string{build.AgentClassVariable: "Mine"}[name] }
	b, err := build.New(build.Options{
		Dir: t.TempDir(), Classes: own, Defaults: build.FromEnvironment(session.Placement{}, env),
	})
	must.Succeed(t, err)
	r := request(t)
	r.RuntimeClass = "mine"
	res, err := b.Build(t.Context(), r)
	must.Succeed(t, err)
	if got := strings.Join(made, ", "); got != "runtime standard, agent" {
		t.Errorf("made %s", got)
	}
	if len(res.Warnings()) != 1 || !strings.Contains(res.Warnings()[0], "no_such_tool") {
		t.Errorf("warnings %q", res.Warnings())
	}
	got, err := res.RunProgram(t.Context(), session.Program{Argv: []string{"sh", "-c", "echo out; exit 3"}, Dir: r.Workspace})
	if err != nil || got.Stdout != "out\n" || got.ExitCode != 3 {
		t.Errorf("ran %+v: %v", got, err)
	}
	must.Report(t, res.Close(t.Context(), false))
	for _, p := range []session.Placement{
		{AgentClass: "x"}, {RuntimeClass: "x"}, {SandboxClass: "x"}, {ExecutorClass: "x"},
	} {
		r := request(t)
		r.Placement = p
		if _, err := b.Build(t.Context(), r); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.HintOf(err), "registered are") {
			t.Errorf("%+v: %v", p, err)
		}
		if _, err := build.New(build.Options{Dir: t.TempDir(), Defaults: p}); !fault.Is(err, fault.Invalid) {
			t.Errorf("defaults %+v: %v", p, err)
		}
	}
	must.Report(t, b.Close())
}

// TestUnusedSandbox refuses a sandbox that the runtime would silently do without.
func TestUnusedSandbox(t *testing.T) {
	t.Parallel()
	both := session.Placement{RuntimeClass: build.LocalRuntime, SandboxClass: "process"}
	if _, err := build.New(build.Options{Dir: t.TempDir(), Defaults: both}); !fault.Is(err, fault.Invalid) {
		t.Errorf("defaults: %v", err)
	}
	b, err := build.New(build.Options{Dir: t.TempDir(), Defaults: session.Placement{RuntimeClass: build.LocalRuntime}})
	must.Succeed(t, err)
	r := request(t)
	r.SandboxClass = "process"
	if _, err := b.Build(t.Context(), r); !fault.Is(err, fault.Invalid) {
		t.Errorf("a conversation with a sandbox runs outside of one: %v", err)
	}
}
