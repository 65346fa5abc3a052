package build

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

// ownSandboxes starts programs in a conversation's sandbox, and each that has a
// network of its own in another one with the same view of files. The hosts of such
// a program are thus closed to the agent's commands: they share no network
// namespace, no processes and no private directories with it.
type ownSandboxes struct {
	shared  tool.Starter
	options sandboxed.Options // of the conversation's sandbox

	provider sandbox.Provider
}

// StartProgram implements [tool.Starter].
func (s *ownSandboxes) StartProgram(ctx context.Context, p tool.Program) (tool.Process, error) {
	if len(p.Network) == 0 {
		return s.shared.StartProgram(ctx, p)
	}
	o := s.options
	var err error
	if o.Spec, err = ownSandbox(o.Spec, p.Network); err != nil {
		return nil, err
	}
	p.Network = nil
	rt := sandboxed.Start(context.WithoutCancel(ctx), o)
	end := sync.OnceValue(func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(rt.Stop(ctx), s.provider.Remove(ctx, o.Spec.ID))
	})
	if _, err := rt.Ready(ctx); err != nil { // the provider's own error names the next step
		return nil, errors.Join(err, end())
	}
	proc, err := rt.StartProgram(ctx, p)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &sandboxedProgram{proc, end}, nil
}

// ownGrace is how long the sandbox of one program lives when nothing is connected
// to it any more. No other process looks for it.
const ownGrace = "10s"

// ownSandbox returns the sandbox of a program that may reach further hosts.
func ownSandbox(shared sandbox.Spec, hosts []string) (sandbox.Spec, error) {
	own := shared
	granted := strings.Join(hosts, ",")
	if !shared.Network.None() {
		granted += "," + string(shared.Network)
	}
	network, err := sandbox.ParseNetwork(granted)
	if err != nil {
		return own, err
	}
	if network.None() {
		return own, fault.New(fault.Invalid, "the list of the program's hosts is empty")
	}
	own.ID += ownSandboxMark + rand.Text()[:12]
	own.Network = network
	// Of a flag that is given twice the last value counts.
	own.Argv = append(slices.Clone(shared.Argv), "--net="+string(network), "--grace="+ownGrace, "--own-program")
	return own, nil
}

// ownSandboxMark is between the id of a conversation and the part that tells the
// sandboxes of its programs apart.
const ownSandboxMark = ".program-"

// sandboxedProgram is a program in a sandbox of its own, which ends with it.
type sandboxedProgram struct {
	tool.Process
	end func() error
}

// Close implements [tool.Process].
func (p *sandboxedProgram) Close() error { return errors.Join(p.Process.Close(), p.end()) }
