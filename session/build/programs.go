package build

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
)

// runProgram runs a program in a runtime.
func runProgram(ctx context.Context, rt runtime.Runtime, p session.Program) (session.ProgramResult, error) {
	id := event.NewID()
	// It may have ended by itself.
	stop := context.AfterFunc(ctx, func() { _ = rt.Interrupt(context.WithoutCancel(ctx), id) })
	defer stop()
	obs, err := rt.Execute(ctx, tool.Request{Call: tool.Call{
		ID: id, Action: &command.Action{Argv: p.Argv, Dir: p.Dir, Seconds: p.Seconds},
	}})
	if err != nil {
		return session.ProgramResult{}, err
	}
	if k, ok := rt.(runtime.Acknowledger); ok {
		k.Ack(id)
	}
	got, ok := obs.(*command.Observation)
	if !ok || got.IsError {
		return session.ProgramResult{}, fault.New(fault.Unavailable, "run in the sandbox: "+event.JoinText(obs.Result().Content))
	}
	return session.ProgramResult{ExitCode: got.ExitCode, Stdout: got.Stdout, Stderr: got.Stderr}, nil
}
