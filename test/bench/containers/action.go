package main

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

func connect(s sandbox.Sandbox) (*remote.Runtime, error) {
	return remote.New(remote.Options{Dial: s.Dial})
}

// command runs a command in the sandbox's terminal.
func command(ctx context.Context, rt *remote.Runtime) error {
	id := event.NewID()
	obs, err := rt.Execute(ctx, tool.Request{Call: tool.Call{ID: id, Action: &event.TerminalAction{Command: "true"}}})
	if err != nil {
		return err
	}
	rt.Ack(id)
	got, ok := obs.(*event.TerminalObservation)
	if !ok || got.ExitCode == nil || *got.ExitCode != 0 {
		return fmt.Errorf("the command failed: %s", event.JoinText(obs.Result().Content))
	}
	return nil
}
