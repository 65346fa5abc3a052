package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// job is one `deft run`.
type job struct {
	cmd       *runCmd
	std       *streams
	paths     paths
	store     eventstream.Stream
	view      *view
	id        event.ConversationID
	fresh     bool             // made by this run
	meta      eventstream.Meta // of one that is resumed
	model     string           // of the agent; "" for a replay
	task      string           // to be sent; empty to go on
	title     string
	workspace string
	session   *runSession
	unlock    func()
	stopping  atomic.Bool // the user has asked to pause
}

func (j *job) release() {
	if j.unlock != nil {
		j.unlock()
	}
}

// beforeStep catches a wish to pause from before there was a run to pause.
func (j *job) beforeStep() {
	if j.stopping.Load() {
		j.session.Pause()
	}
}

// work runs the conversation to its end and reports.
func (j *job) work(ctx context.Context) error {
	began := time.Now()
	j.view.recall(j.session.State())
	runCtx, leave := context.WithCancel(ctx)
	defer leave()
	stopSignals := j.onSignals(runCtx, leave)
	stopShowing := j.show(ctx, eventstream.Seq(j.session.State().Seq)+1)
	base := j.head(ctx)
	err := j.drive(runCtx)
	err = errors.Join(err, stopShowing())
	s := j.session.State()
	stat := ""
	if commit := base(); err == nil {
		stat = j.diffstat(ctx, commit)
	}
	err = errors.Join(err, j.session.end(ctx, j.through(s)))
	stopSignals()
	if err != nil {
		return j.failed(err)
	}
	j.view.summary(j, s, time.Since(began), stat)
	if j.cmd.Export != "" {
		if err := exportTrajectory(ctx, j.store, j.id, j.cmd.Export); err != nil {
			return err
		}
	}
	return outcome(s, j.view.lastCode())
}

// through reports whether nothing in the sandbox is worth keeping for a resume.
func (j *job) through(s *state.State) bool {
	acted := slices.ContainsFunc(s.View, func(ev event.Event) bool {
		_, ok := ev.(*event.ActionEvent)
		return ok
	})
	return s.Status == state.Finished || j.cmd.Grace == 0 || s.Status == state.Errored && !acted
}

// failed says how to go on after an error that is not part of the
// conversation.
func (j *job) failed(err error) error {
	kind, msg := fault.KindOf(err), "conversation "+string(j.id)
	if errors.Is(err, context.Canceled) {
		kind, err = fault.Interrupted, errors.New("left before its end")
	}
	next := "to go on: " + j.view.again(j.id)
	if hint := fault.HintOf(err); hint != "" {
		next = hint + "; " + next
	}
	return fault.New(kind, msg).Because(err).Hint(next)
}

// drive sends what is to be sent and runs.
func (j *job) drive(ctx context.Context) error {
	s := j.session
	if s.replay == nil {
		if j.task == "" && s.State().Status == state.Finished {
			j.view.note("the conversation is finished; give a task to go on with it")
			return nil
		}
		if err := j.send(ctx); err != nil {
			return err
		}
	}
	if s.replay != nil {
		if err := s.replay.Run(ctx, s.Controller); err != nil || j.task == "" {
			return err
		}
		if st := s.State().Status; st != state.Finished && st != state.Idle {
			j.view.warn("the replay did not reach its end, so the task was not given")
			return nil
		}
		if err := s.SetAgent(s.agent); err != nil {
			return err
		}
		if err := j.send(ctx); err != nil {
			return err
		}
	}
	return j.runUnlessBroken(ctx)
}

// runUnlessBroken runs the conversation while its sandbox starts: the first
// call to the model does not wait for it. If the sandbox cannot start the call
// is given up, and the error says why.
func (j *job) runUnlessBroken(ctx context.Context) error {
	started := make(chan error, 1)
	go func() {
		err := j.session.ready(ctx)
		if err != nil {
			j.stopping.Store(true)
			j.session.Pause()
		}
		started <- err
	}()
	err := j.session.Run(ctx)
	if broken := <-started; broken != nil && ctx.Err() == nil {
		return broken
	}
	return err
}

func (j *job) send(ctx context.Context) error {
	if j.task == "" {
		return nil
	}
	if err := j.session.Send(ctx, event.NewUserMessage(j.task)); err != nil {
		return fmt.Errorf("store the task: %w", err)
	}
	return nil
}

// show follows the stream until it is told to stop; it then shows what is
// stored by then.
func (j *job) show(ctx context.Context, from eventstream.Seq) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var failed error
	upTo := make(chan eventstream.Seq, 1)
	wg.Go(func() {
		next := from
		live := j.store.Follow(ctx, j.id, from)
		if !j.view.live() { // what the end needs is read at the end
			live = func(func(eventstream.Record, error) bool) {}
		}
		for rec, err := range live {
			if err != nil {
				if ctx.Err() == nil {
					failed = err
				}
				break
			}
			j.view.record(rec)
			next = rec.Seq + 1
		}
		last := <-upTo
		for rec, err := range j.store.Read(context.WithoutCancel(ctx), j.id, next) {
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			if rec.Seq > last {
				return
			}
			j.view.record(rec)
		}
	})
	return func() error {
		upTo <- eventstream.Seq(j.session.State().Seq)
		cancel()
		wg.Wait()
		return failed
	}
}
