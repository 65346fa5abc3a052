package command_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, ctx context.Context, argv ...string) *command.Observation {
	t.Helper()
	x := command.New([]string{"PATH=/usr/bin:/bin", "X=y"}, nil)
	defer x.Close()
	obs, err := x.Execute(ctx, tool.Call{ID: event.NewID(), Action: &command.Action{Argv: argv, Dir: "/"}})
	must.Succeed(t, err)
	return obs.(*command.Observation)
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv           []string
		exit           int
		stdout, stderr string
		isError        bool
	}{
		"output":     {[]string{"sh", "-c", "echo out; echo err >&2"}, 0, "out\n", "err\n", false},
		"exit code":  {[]string{"sh", "-c", "exit 3"}, 3, "", "", false},
		"own env":    {[]string{"sh", "-c", "echo $X$HOME"}, 0, "y\n", "", false},
		"not a word": {[]string{"echo", "a; echo b"}, 0, "a; echo b\n", "", false},
		"no program": {[]string{"no-such-program"}, -1, "", "", true},
		"nothing":    {nil, -1, "", "", true},
		"a child":    {[]string{"sh", "-c", "sleep 3 & echo out"}, 0, "out\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, t.Context(), c.argv...)
			if o.ExitCode != c.exit || o.Stdout != c.stdout || o.Stderr != c.stderr || o.IsError != c.isError {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestFloodIsBounded(t *testing.T) {
	t.Parallel()
	if o := run(t, t.Context(), "sh", "-c", "head -c 3000000 /dev/zero"); len(o.Stdout) != 1<<20 || o.ExitCode != 0 {
		t.Errorf("%d bytes, exit %d", len(o.Stdout), o.ExitCode)
	}
}

func TestInterruptKillsTheGroup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := run(t, ctx, "sh", "-c", "sleep 100 & wait"); o.ExitCode == 0 {
		t.Errorf("%+v", o)
	}
}

func TestActionSurvivesTheWire(t *testing.T) {
	t.Parallel()
	raw, err := event.MarshalAction(&command.Action{Argv: []string{"git", "diff"}, Dir: "/w"})
	must.Succeed(t, err)
	a, err := event.UnmarshalAction(raw)
	must.Succeed(t, err)
	if got, ok := a.(*command.Action); !ok || strings.Join(got.Argv, " ") != "git diff" {
		t.Errorf("%#v", a)
	}
}
