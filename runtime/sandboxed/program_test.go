package sandboxed_test

import (
	"bufio"
	"io"
	"os"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/program"
)

// TestPrograms starts a program in the sandbox, which ends with it, and another one
// after that: a new sandbox is started for it.
func TestPrograms(t *testing.T) {
	t.Parallel()
	var server *remote.Runtime // of the last sandbox
	starts := 0
	rt := sandboxed.Start(t.Context(), sandboxed.Options{
		Provider: serverProvider{t: t, programs: program.New(program.Options{Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir()})},
		Connect: func(s sandbox.Sandbox) (rt runtime.Runtime, err error) {
			starts++
			server, err = remote.New(remote.Options{Dial: s.Dial})
			return server, err
		},
	})
	t.Cleanup(func() { rt.Close() })
	first := echo(t, rt)
	must.Succeed(t, server.Shutdown(t.Context()))
	if rest, err := io.ReadAll(first); err != nil || len(rest) > 0 {
		t.Errorf("after the end of the sandbox: %q, %v", rest, err)
	}
	must.Report(t, first.Close())
	must.Report(t, echo(t, rt).Close())
	if starts != 2 {
		t.Errorf("%d sandboxes were started", starts)
	}
	if _, err := rt.StartProgram(t.Context(), tool.Program{Command: "no-such-program"}); !fault.Is(err, fault.NotFound) || starts != 2 {
		t.Errorf("an unknown program: %v, %d sandboxes", err, starts)
	}
}

// echo starts cat and talks to it.
func echo(t *testing.T, rt *sandboxed.Runtime) tool.Process {
	t.Helper()
	p, err := rt.StartProgram(t.Context(), tool.Program{Command: "cat"})
	must.Succeed(t, err)
	if _, err := io.WriteString(p, "hi\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReaderSize(p, 16).ReadString('\n'); err != nil || line != "hi\n" {
		t.Errorf("got %q, %v", line, err)
	}
	return p
}
