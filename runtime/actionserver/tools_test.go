package actionserver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/tool"
)

// offering is an executor that brings a tool.
type offering struct{ tool.Executor }

func (offering) Tools() []tool.External {
	return []tool.External{{Name: "deploy", Description: "Deploys.", ActionKind: "DeployAction"}}
}

func (offering) Close() error { return nil }

// TestTools asks for the tools that executors bring, and for the error if there are
// no executors.
func TestTools(t *testing.T) {
	t.Parallel()
	rt := connect(t, serve(t, map[string]tool.Executor{"DeployAction": offering{}, "OtherAction": offering{}}, 0))
	got, err := rt.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(offering{}.Tools(), got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	failing := connect(t, serveWith(t, actionserver.Options{SetupErr: fault.New(fault.Invalid, "it names no action").Hint("name one")}))
	if _, err := failing.Tools(t.Context()); !fault.Is(err, fault.Invalid) || err.Error() != "it names no action" || fault.HintOf(err) != "name one" {
		t.Errorf("error %v", err)
	}
}
