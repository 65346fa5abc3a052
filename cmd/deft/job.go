package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
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
	fresh     bool // made by this run
	workspace string
	session   *session
	unlock    func()
}

func (j *job) release() {
	if j.unlock != nil {
		j.unlock()
	}
}

// work runs the conversation to its end and reports.
func (j *job) work(ctx context.Context, task string) error {
	began, from := time.Now(), j.session.State().Seq
	stopShowing := j.show(ctx, eventstream.Seq(from)+1)
	base := j.head(ctx)
	stopSignals := j.onSignals(ctx)
	err := j.drive(ctx, task)
	stopSignals()
	if showErr := stopShowing(); err == nil {
		err = showErr
	}
	s := j.session.State()
	stat := j.diffstat(ctx, base)
	if endErr := j.session.end(ctx, s.Status == state.Finished); err == nil {
		err = endErr
	}
	if err != nil {
		return fmt.Errorf("conversation %s: %w", j.id, err)
	}
	j.view.summary(j, s, time.Since(began), stat)
	if j.cmd.Export != "" {
		if err := exportTrajectory(ctx, j.store, j.id, j.cmd.Export); err != nil {
			return err
		}
	}
	return outcome(s, j.view.lastCode())
}

// drive sends what is to be sent and runs.
func (j *job) drive(ctx context.Context, task string) error {
	if j.session.replay != nil {
		if err := j.session.replay.Run(ctx, j.session.Controller); err != nil || task == "" {
			return err
		}
		if err := j.session.SetAgent(j.session.agent); err != nil {
			return err
		}
	}
	if task != "" {
		if err := j.session.Send(ctx, event.NewUserMessage(task)); err != nil {
			return err
		}
	}
	return j.session.Run(ctx)
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
		for rec, err := range j.store.Follow(ctx, j.id, from) {
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

// onSignals makes Ctrl-C pause the run, and a second one interrupt it.
func (j *job) onSignals(ctx context.Context) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			if n == 0 {
				j.view.note("pausing after the running command; press Ctrl-C again to stop it")
				j.session.Pause()
				continue
			}
			if err := j.session.Interrupt(ctx); err != nil {
				j.view.warn("the command could not be stopped: " + err.Error())
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}
