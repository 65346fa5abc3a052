package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/workplace"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// boxGrace is how long a sandbox outlives the server, so that a server that
// comes back finds what runs in it.
const boxGrace = 10 * time.Minute

// place says where the tools of a conversation run: where the server stands,
// or, with boxes, in a sandbox of their own around the workspace.
func (f *outfitter) place(ctx context.Context, k *kit, n conversation.Needs) (inside, beside runtime.Runtime, err error) {
	if f.boxes == nil {
		execs, err := sandboxTools(n.Workspace, f.scratch(n), f.env)
		if err != nil {
			return nil, nil, fmt.Errorf("set up tools: %w", err)
		}
		maps.Copy(k.execs, execs)
		rt := local.New(executor.New(k.execs, executor.Volatile()))
		k.closers = append(k.closers, rt.Close)
		return rt, rt, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the deft binary: %w", err)
	}
	dir, err := filepath.Abs(n.Workspace)
	if err != nil {
		return nil, nil, fmt.Errorf("find the workspace: %w", err)
	}
	p := workplace.Start(context.WithoutCancel(ctx), workplace.Options{
		Provider: replacing{f.boxes}, Connect: connectRemote,
		Spec: sandbox.Spec{
			ID: n.ID.Hex(), Workspace: dir, Network: true, Env: f.env,
			Argv: []string{self, "action-server", "--workspace", dir, "--grace", boxGrace.String()},
		},
	})
	rt := local.New(executor.New(k.execs, executor.Volatile()))
	k.closers = append(k.closers, p.Close, rt.Close)
	return p, rt, nil
}

// scratch is where a conversation keeps results that do not fit into an
// event.
func (f *outfitter) scratch(n conversation.Needs) string {
	return filepath.Join(f.dir, n.ID.Hex(), "observations")
}

// openBoxes returns the provider of sandboxes, which hides directories.
func openBoxes(dir string, hidden ...string) (*process.Provider, error) {
	o := process.Options{Hidden: make([]string, len(hidden))}
	var err error
	if o.Dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the directory of sandboxes: %w", err)
	}
	for i, h := range hidden {
		if o.Hidden[i], err = filepath.Abs(h); err != nil {
			return nil, fmt.Errorf("find %s: %w", h, err)
		}
		// What is hidden must be there.
		if err := os.MkdirAll(o.Hidden[i], 0o700); err != nil {
			return nil, fmt.Errorf("make %s: %w", h, err)
		}
	}
	return process.New(o)
}
