package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
)

// TestParse reads command lines as session/build makes them.
func TestParse(t *testing.T) {
	t.Setenv("TOKEN", "secret")
	for name, c := range map[string]struct {
		args []string
		want standardserver.Config
		kind fault.Kind
	}{
		"a conversation's": {
			args: []string{"--workspace", "/w", "--grace", "1m0s", "--executor", "standard", "--mask", "TOKEN", "--mask", "NONE", "--ignore-signals", "--net=.a.org:443,open", "--mark", "x"},
			want: standardserver.Config{Workspace: "/w", Grace: time.Minute, IgnoreSignals: true, Network: ".a.org:443,open", Masked: []string{"secret", ""}},
		},
		"a program's": { // the last value counts
			args: []string{"--workspace", "/w", "--grace", "1m0s", "--net=none", "--net=b.org", "--grace=10s", "--own-program", "--results", "/r"},
			want: standardserver.Config{Workspace: "/w", Grace: 10 * time.Second, OwnProgram: true, Network: "b.org", Results: "/r"},
		},
		"a program as executor": {args: []string{"--workspace", "/w", "--executor", "exec:/x"}, want: standardserver.Config{Workspace: "/w", Grace: 10 * time.Minute}},
		"no workspace":          {args: []string{"--grace", "1m"}, kind: fault.Invalid},
		"an argument":           {args: []string{"--workspace", "/w", "4000"}, kind: fault.Invalid},
		"an unknown flag":       {args: []string{"--workspace", "/w", "--other"}, kind: fault.Invalid},
		"no duration":           {args: []string{"--workspace", "/w", "--grace", "soon"}, kind: fault.Invalid},
		"a class linked in":     {args: []string{"--workspace", "/w", "--executor", "shout"}, kind: fault.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.args)
			if c.kind != "" {
				if !fault.Is(err, c.kind) {
					t.Fatalf("%v, want the kind %s", err, c.kind)
				}
				return
			}
			if err != nil || got.Executors == nil || got.Log == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			got.Executors, got.Log = nil, nil
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v,\nwant %+v", got, c.want)
			}
		})
	}
}

// TestProgramExecutor: the class exec:PATH starts that program.
func TestProgramExecutor(t *testing.T) {
	t.Parallel()
	c, err := parse([]string{"--workspace", t.TempDir(), "--executor", standard.ProgramClass + "/none"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Executors(standard.Config{Workspace: c.Workspace, Scratch: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "start the executor program") {
		t.Error(err)
	}
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"run"}, {"agent-server"}} {
		if err := run(t.Context(), args); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
