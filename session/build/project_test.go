package build_test

import (
	"context"
	"testing"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// far is a provider of sandboxes on other machines.
type far struct{ sandbox.Provider }

// execution runs no actions, and shows files.
type execution struct {
	build.Execution
	rt     *local.Runtime
	files  workspace.Files
	closed func(keep bool)
}

func (e execution) Runtime() runtime.Runtime { return e.rt }

func (e execution) Local() runtime.Runtime { return e.rt }

func (e execution) Files() workspace.Files { return e.files }

func (execution) Tools(context.Context) ([]tool.External, error) { return nil, nil }

func (e execution) Close(_ context.Context, keep bool) error {
	e.closed(keep)
	return e.rt.Close()
}

// TestProjectInside reads a project that is inside its sandbox before the agent is made.
func TestProjectInside(t *testing.T) {
	t.Parallel()
	files, err := workspace.Open(t.TempDir())
	must.Succeed(t, err)
	defer files.Close()
	open := 0
	classes := build.StandardClasses()
	classes.Sandboxes = classes.Sandboxes.With(sandbox.Class{Name: "far", Inside: "/only", New: func(sandbox.Config) (sandbox.Provider, error) {
		return far{}, nil
	}})
	class := func(shown workspace.Files) build.RuntimeClass {
		return func(context.Context, build.RuntimeConfig) (build.Execution, error) {
			rt := local.New(executor.New(nil, executor.InMemory()))
			open++
			return execution{rt: rt, files: shown, closed: func(keep bool) {
				if !keep {
					t.Error("the sandbox was stopped")
				}
				open--
			}}, nil
		}
	}
	classes.Runtimes["showing"], classes.Runtimes["blind"] = class(files), class(nil)
	b, err := build.New(build.Options{Dir: t.TempDir(), Classes: classes})
	must.Succeed(t, err)
	read := 0
	request := func(class string) session.BuildRequest {
		return session.BuildRequest{
			Workspace: "/only/inside", Agent: &spec.Agent{}, Placement: session.Placement{SandboxClass: "far", RuntimeClass: class},
			Project: func(_ context.Context, got workspace.Files, r *session.BuildRequest) error {
				read++
				if got != workspace.Files(files) || open != 1 {
					t.Errorf("the project is read from %v, with %d runtimes", got, open)
				}
				r.Prompt.Persona = "told"
				return nil
			},
		}
	}
	res, err := b.Build(t.Context(), request("showing"))
	must.Succeed(t, err)
	if res.Files() != workspace.Files(files) || read != 1 || open != 1 {
		t.Errorf("files %v, read %d times, %d runtimes are open", res.Files(), read, open)
	}
	if err := res.Close(t.Context(), true); err != nil || open != 0 {
		t.Errorf("close: %v, %d are open", err, open)
	}
	if _, err := b.Build(t.Context(), request("blind")); !fault.Is(err, fault.Unsupported) || open != 0 {
		t.Errorf("a runtime without files: %v, %d are open", err, open)
	}
	for class, want := range map[string]bool{"far": true, "process": false, "docker": false, "none": false, "": false} {
		if got, err := b.WorkspaceInside(session.Placement{SandboxClass: class}); got != want || err != nil {
			t.Errorf("class %q: inside %v %v", class, got, err)
		}
	}
	if _, err := b.WorkspaceInside(session.Placement{SandboxClass: "nothing"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown class: %v", err)
	}
}
