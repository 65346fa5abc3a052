// Command outside extends Deft from another module, without internal packages:
// it has a tool, an agent and a sandbox of its own, and runs one conversation
// with them.
//
// # Usage
//
//	go run . FILE
//
// The user asks how many words FILE, in the current directory, has. The agent
// needs no LLM: it calls the tool and reports its answer. The tool runs in the
// sandbox, under Deft's Action Execution Server; the conversation is stored, and
// survives a crash, like every other.
//
// # Concurrency and failure
//
// main waits for all that it starts. Any error ends the program with status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// serverArg makes this program the server in the sandbox.
const serverArg = "action-server"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == serverArg:
		return serve(ctx, args[1])
	case len(args) == 1:
		return converse(ctx, args[0], out)
	}
	return errors.New("usage: outside FILE")
}

// serve runs the tool inside the sandbox, at most once for each action.
func serve(ctx context.Context, workspace string) error {
	listener, journal, err := actionserver.Inherited()
	if err != nil {
		return err
	}
	return actionserver.Serve(ctx, actionserver.Options{
		Listener: listener, Journal: journal, OwnProcess: true,
		Tools: map[string]tool.Executor{(&CountAction{}).Kind(): NewCounter(workspace)},
	})
}

// converse runs one conversation and prints how it went.
func converse(ctx context.Context, file string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "outside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stream, err := sqlite.Open(ctx, filepath.Join(dir, "events"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	id := event.NewConversationID()
	if err := stream.Create(ctx, id, eventstream.Meta{}); err != nil {
		return err
	}
	rt, err := startRuntime(ctx, id, filepath.Join(dir, "sandboxes"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Stop(ctx)) }()
	a, err := NewAgent()
	if err != nil {
		return err
	}
	c, err := controller.Open(ctx, controller.Config{
		ID: id, Stream: stream, Agent: a, Runtime: rt,
		LLM: func(string) llm.Model { return nil }, // the agent asks none
	})
	if err != nil {
		return err
	}
	if err := c.Send(ctx, event.NewUserMessage(file)); err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil {
		return err
	}
	return show(out, c.State())
}

// startRuntime starts a sandbox in which this program is the action server.
func startRuntime(ctx context.Context, id event.ConversationID, dir string) (*sandboxed.Runtime, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	workspace, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return sandboxed.Start(ctx, sandboxed.Options{
		Provider: NewProvider(dir),
		Spec: sandbox.Spec{
			ID: id.Hex(), Argv: []string{self, serverArg, workspace}, Env: []string{"LANG=C.UTF-8"}, Workspace: workspace,
		},
		Connect: func(s sandbox.Sandbox) (runtime.Runtime, error) {
			return remote.New(remote.Options{Dial: s.Dial})
		},
	}), nil
}

// show prints the conversation, line by line.
func show(out io.Writer, s *state.State) error {
	for _, ev := range s.View {
		var line string
		switch ev := ev.(type) {
		case *event.MessageEvent:
			line = string(ev.Source) + ": " + event.JoinText(ev.LLMMessage.Content)
		case *event.ActionEvent:
			line = "agent calls " + ev.ToolName + " " + ev.ToolCall.Arguments
		case *event.ObservationEvent:
			line = ev.ToolName + ": " + event.JoinText(ev.Observation.Result().Content)
		default:
			line = ev.Kind()
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out, "status:", s.Status)
	return err
}
