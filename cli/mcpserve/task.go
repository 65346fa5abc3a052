package mcpserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/session"
)

// task is a conversation that the client has started.
type task struct {
	id event.ConversationID

	mu       sync.Mutex
	running  bool
	canceled bool
	ended    chan struct{}   // closed when the present run has ended
	err      error           // of the last run, if it is not among the events
	told     eventstream.Seq // the last event that was sent as progress
}

// start makes the conversation of a task and runs it.
func (s *Server) start(ctx context.Context, a startArgs) (*task, error) {
	if strings.TrimSpace(a.Task) == "" {
		return nil, fault.New(fault.Invalid, "the task is empty")
	}
	dir, err := s.directory(a.Directory)
	if err != nil {
		return nil, err
	}
	t := &task{id: event.NewConversationID()}
	spec, err := s.o.Spec(ctx, t.id, a.Task, dir)
	if err != nil {
		return nil, err
	}
	spec.ID = t.id
	if err := s.begin(t, true); err != nil {
		return nil, err
	}
	if _, _, err := s.o.Sessions.Create(ctx, spec); err != nil {
		s.end(t, err)
		s.forget(t)
		return nil, fmt.Errorf("create the conversation: %w", err)
	}
	s.work.Go(func() { s.end(t, s.run(t, message(a.Task))) })
	return t, nil
}

// directory is the place of a task: the root, or a directory below it.
func (s *Server) directory(given string) (string, error) {
	if s.o.Inside && given == "" {
		return s.o.Root, nil
	}
	if s.o.Inside {
		return "", fault.New(fault.Unsupported, "the directories of this server's sandboxes cannot be chosen").Hint("leave directory out")
	}
	dir := given
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.o.Root, dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fault.New(fault.NotFound, "the directory "+given+" cannot be found").Because(err)
	}
	if !realpath.Inside(s.o.Root, dir) {
		return "", fault.New(fault.Denied, "the directory "+given+" is not below "+s.o.Root).Hint("start the server with --workspace for another one")
	}
	return dir, nil
}

// begin notes that a task runs.
func (s *Server) begin(t *task, fresh bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, other := range s.tasks {
		if other.busy() != nil {
			n++
		}
	}
	if n >= s.o.Most {
		return fault.New(fault.RateLimit, fmt.Sprintf("%d tasks run already", n)).Hint("wait for one to end, or cancel one")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return errRunning
	}
	t.running, t.canceled, t.ended, t.err = true, false, make(chan struct{}), nil
	if fresh {
		s.tasks = append(s.tasks, t)
	}
	return nil
}

var errRunning = fault.New(fault.Conflict, "the task runs already")

// busy returns the channel that the present run closes at its end; nil where none runs.
func (t *task) busy() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running {
		return nil
	}
	return t.ended
}

func (s *Server) end(t *task, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.err = false, err
	close(t.ended)
}

func (s *Server) forget(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = slices.DeleteFunc(s.tasks, func(other *task) bool { return other == t })
}

// run gives the agent a message and waits for the end of its work. The conversation is free for
// other programs then.
func (s *Server) run(t *task, m session.Message) error {
	ctx := context.WithoutCancel(s.ctx)
	c, err := s.o.Sessions.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if err = c.Send(ctx, m); err == nil {
		err = s.wait(t, c)
	}
	return errors.Join(err, s.o.Sessions.Evict(ctx, t.id, false))
}

// wait waits for the end of a run, which the end of the server stops.
func (s *Server) wait(t *task, c *session.Conversation) error {
	ctx := context.WithoutCancel(s.ctx)
	t.mu.Lock()
	canceled := t.canceled // before there was anything to stop
	t.mu.Unlock()
	if canceled {
		if err := c.Interrupt(ctx); err != nil {
			return err
		}
	}
	if err := c.Wait(s.ctx); err != nil {
		if err := errors.Join(c.Interrupt(ctx), c.Wait(ctx)); err != nil {
			return err
		}
	}
	return c.Failure()
}

func message(text string) session.Message {
	return session.Message{ID: event.NewID(), Role: event.RoleUser, Content: event.Texts(text), Run: true}
}

// send gives the agent of a task another message. A run that is at work takes it in; if it ends
// before that, the message begins another one.
func (s *Server) send(ctx context.Context, t *task, text string) error {
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.Invalid, "the message is empty")
	}
	m := message(text)
	for {
		err := s.begin(t, false)
		if err == nil {
			s.work.Go(func() { s.end(t, s.run(t, m)) })
			return nil
		}
		if !errors.Is(err, errRunning) {
			return err
		}
		c, err := s.o.Sessions.Get(ctx, t.id)
		if err == nil {
			err = c.Send(ctx, m)
		}
		if err != nil || t.busy() != nil {
			return err
		}
	}
}

// cancel stops the run of a task, and waits for that.
func (s *Server) cancel(ctx context.Context, t *task) error {
	t.mu.Lock()
	t.canceled = true
	running, ended := t.running, t.ended
	t.mu.Unlock()
	if !running {
		return nil
	}
	c, err := s.o.Sessions.Get(ctx, t.id)
	if err == nil {
		err = c.Interrupt(ctx)
	}
	if err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) all() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tasks)
}

func (s *Server) find(id string) (*task, error) {
	for _, t := range s.all() {
		if string(t.id) == id {
			return t, nil
		}
	}
	return nil, fault.New(fault.NotFound, "no task "+id+" was started here").Hint("list_tasks lists them; deft conversations list has earlier ones")
}

// watch sends the steps of a task as progress until it has ended or the time is up.
func (s *Server) watch(ctx context.Context, r *sdk.CallToolRequest, id string, limit time.Duration) (Result, error) {
	t, err := s.find(id)
	if err != nil {
		return Result{}, err
	}
	if ended := t.busy(); ended != nil {
		following, stop := context.WithTimeout(ctx, limit)
		var work sync.WaitGroup
		if token := r.Params.GetProgressToken(); token != nil {
			work.Go(func() { s.tell(following, r.Session, token, t) })
		}
		select {
		case <-ended:
		case <-following.Done():
		}
		stop()
		work.Wait()
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return s.result(ctx, t)
}

// tell sends each event that people would see as a progress notification, from the first one on
// that was not sent before.
func (s *Server) tell(ctx context.Context, to *sdk.ServerSession, token any, t *task) {
	t.mu.Lock()
	from := t.told + 1
	t.mu.Unlock()
	var shown bytes.Buffer
	printer := console.New(console.Options{Out: &shown, Lines: 1})
	for rec, err := range s.o.Sessions.Store().Follow(ctx, t.id, from) {
		if err != nil {
			return // ctx has ended, or the result has the error too
		}
		ev, err := rec.Event()
		if err != nil {
			continue
		}
		shown.Reset()
		printer.Event(ev)
		if text, _, _ := strings.Cut(strings.TrimSpace(shown.String()), "\n"); text != "" {
			if to.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(rec.Seq), Message: text}) != nil {
				return // the client has gone away, or the time is up
			}
		}
		t.mu.Lock()
		t.told = max(t.told, rec.Seq)
		t.mu.Unlock()
	}
}

// result reads the state of a task.
func (s *Server) result(ctx context.Context, t *task) (Result, error) {
	store := s.o.Sessions.Store()
	info, err := store.Info(ctx, t.id)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		ID: string(t.id), Status: info.Status, Title: info.Meta.Title, Directory: info.Meta.WorkingDir, Cost: info.Cost,
		Resume: s.o.Command + " run --resume " + string(t.id),
	}
	for rec, err := range store.Read(ctx, t.id, 1) {
		if err != nil {
			return r, err
		}
		if ev, err := rec.Event(); err == nil {
			r.learn(ev)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.running:
		r.Status, r.Answer, r.Error = "running", "", "" // its message may not be stored yet
	case t.err != nil:
		r.Status, r.Error = "error", t.err.Error()
	}
	return r, nil
}

// learn takes the agent's last words, or the last error, from an event.
func (r *Result) learn(ev event.Event) {
	switch e := ev.(type) {
	case *event.MessageEvent:
		switch e.Source {
		case event.SourceAgent:
			r.Answer, r.Error = event.JoinText(e.LLMMessage.Content), "" // the run has gone on
		case event.SourceUser:
			r.Answer, r.Error = "", "" // of the work before
		}
	case *event.ObservationEvent:
		if f, ok := e.Observation.(*event.FinishObservation); ok {
			r.Answer, r.Error = event.JoinText(f.Content), ""
		}
	case *event.ConversationErrorEvent:
		r.Error = e.Detail
	}
}
