// Package mcpserve is `deft mcp serve`: it offers Deft to clients of the Model Context
// Protocol. A client starts tasks, watches them with progress notifications, reads their
// results and cancels them.
//
// # Usage
//
//	s := mcpserve.New(mcpserve.Options{Sessions: m, Root: dir, Spec: spec})
//	err := s.Serve(ctx, os.Stdin, os.Stdout)
//
// A task is a conversation like all others: `deft run --resume` and the web app open it when it
// does not run.
//
// # Concurrency
//
// Tasks run side by side, at most Options.Most. Serve waits for the end of all of them.
//
// # Failure
//
// A failure of a tool is a result with the reason, for the client's model. A line that is no message is
// answered with an error. Tasks that run when
// the client goes away are stopped; they can be resumed.
package mcpserve

import (
	"context"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/session"
)

// maxMessage bounds a message of the client, in bytes.
const maxMessage = 16 << 20

// Options configure a Server. Sessions, Root and Spec are required.
type Options struct {
	Sessions *session.Manager
	// Root is the directory that tasks work in, or below it. Inside says that it is one inside
	// the sandbox; all tasks work in it then.
	Root   string
	Inside bool
	// Spec returns the specification of the conversation of a new task.
	Spec func(ctx context.Context, id event.ConversationID, task, dir string) (session.Spec, error)
	// Most bounds the tasks that run at once; 4 if it is 0.
	Most int
	// Command is how the user calls Deft.
	Command, Version string
}

// Server has the tasks of one client. Make one with [New].
type Server struct {
	o    Options
	ctx  context.Context // of the tasks
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	tasks []*task
}

// New returns a Server.
func New(o Options) *Server {
	if o.Most <= 0 {
		o.Most = 4
	}
	return &Server{o: o}
}

const instructions = `Deft works on software tasks by itself: an agent with a shell and an editor, in a sandbox.
Start a task with start_task, and follow it with watch_task, which sends progress and returns when the task has ended
or some time has passed; call it again until the status is no longer "running". task_result reads the answer,
send_message answers a question of the agent or asks for more, cancel_task stops a task.`

// Serve answers the requests of in on out until in or ctx ends, then stops the tasks.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		s.stop()
		s.work.Wait()
	}()
	server := sdk.NewServer(&sdk.Implementation{Name: "deft", Title: "Deft", Version: s.o.Version}, &sdk.ServerOptions{Instructions: instructions})
	s.addTools(server)
	to := &output{to: out}
	err := server.Run(ctx, &sdk.IOTransport{Reader: newLines(in, to), Writer: to, MaxLineLength: maxMessage})
	if ctx.Err() != nil {
		return nil // it was asked to end
	}
	return err
}
