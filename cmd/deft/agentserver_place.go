package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/bash"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
	"github.com/deft-dev/deft/tool/terminal"
)

// boxGrace is how long a sandbox outlives the server, so that a server that
// comes back finds what runs in it.
const boxGrace = 10 * time.Minute

// place says where the tools of a conversation run: where the server stands,
// or, with boxes, in a sandbox of their own around the workspace.
func (f *outfitter) place(ctx context.Context, k *kit, n conversation.Needs) (inside, beside runtime.Runtime, err error) {
	if f.boxes == nil {
		execs, err := sandboxTools(n.Workspace, f.scratch(n), f.env, f.shells)
		if err != nil {
			return nil, nil, fmt.Errorf("set up tools: %w", err)
		}
		maps.Copy(k.execs, execs)
		k.warmShell()
		rt := local.New(executor.New(k.execs, executor.Forgetful()))
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
	p := sandboxed.Start(context.WithoutCancel(ctx), sandboxed.Options{
		Provider: replacing{f.boxes}, Connect: connectRemote,
		Spec: sandbox.Spec{
			ID: n.ID.Hex(), Workspace: dir, Network: true, Env: f.env,
			Argv: []string{self, "action-server", "--workspace", dir, "--grace", boxGrace.String()},
		},
	})
	rt := local.New(executor.New(k.execs, executor.Forgetful()))
	k.closers = append(k.closers, p.Close, rt.Close)
	return p, rt, nil
}

// warmShell has the shell start with the first run of an agent that has the
// terminal: nearly all use it, and a model takes longer for its answer than a
// shell for its start.
func (k *kit) warmShell() {
	d := terminal.Definition()
	shell, ok := k.execs[d.ActionKind].(tool.Warmer)
	if ok && slices.ContainsFunc(k.defs, func(own *tool.Definition) bool { return own.Name == d.Name }) {
		k.warm = shell.Warm
	}
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

// boxed runs the shell commands of a conversation's clients in its sandbox.
// What they print is there when they have ended.
type boxed struct {
	h  *house
	id string
}

// commandLimit bounds such a command, in seconds: its caller's limit is
// shorter.
const commandLimit = 24 * 60 * 60

// Run implements [bash.Runner].
func (b boxed) Run(ctx context.Context, j bash.Job) (int, error) {
	id, ok := event.ParseConversationID(b.id)
	if !ok {
		return 0, fault.New(fault.NotFound, "Conversation not found: "+b.id)
	}
	c, err := b.h.conversations.Load().Get(ctx, id)
	if err != nil {
		return 0, err
	}
	obs, err := c.Do(ctx, &command.Action{Argv: []string{"sh", "-c", j.Command}, Dir: j.Dir, Seconds: commandLimit})
	if err != nil {
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		return 0, err
	}
	got, ok := obs.(*command.Observation)
	if !ok || got.IsError {
		return 0, fault.New(fault.Unavailable, "run in the sandbox: "+event.JoinText(obs.Result().Content))
	}
	_, _ = io.WriteString(j.Stdout, got.Stdout) // neither fails
	_, _ = io.WriteString(j.Stderr, got.Stderr)
	return got.ExitCode, nil
}
