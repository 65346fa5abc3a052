package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// withCheckpoints is a manager that takes checkpoints.
func withCheckpoints(t *testing.T, times session.CheckpointTimes, o checkpoint.Options, answer reply) *fixture {
	t.Helper()
	if !checkpoint.Available() {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	o.Dir, o.Timeout = t.TempDir(), time.Minute
	return setup(t, answer, func(s *session.Options) { s.Checkpoints, s.CheckpointTimes = checkpoint.New(o), times })
}

// events are the ids of a conversation's events of a kind, in order.
func (h *fixture) events(t *testing.T, id event.ConversationID, kind string) (ids []event.ID) {
	t.Helper()
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		if rec.Kind == kind {
			ids = append(ids, rec.ID)
		}
	}
	return ids
}

// forked is the content of a file in a fork at an event with files of its own; "" if
// the files are not known there.
func forked(t *testing.T, c *session.Conversation, at event.ID, file string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fork")
	_, err := c.Branches().Fork(t.Context(), session.ForkOptions{From: at, Files: &session.ForkFiles{Dir: dir}})
	if errors.Is(err, session.ErrNoCheckpoint) {
		return ""
	}
	if err != nil {
		t.Errorf("fork at %s: %v", at, err)
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// threeSteps write a file three times in one turn.
func threeSteps() reply {
	return inTurn(shell("write a.txt one"), shell("write a.txt two"), shell("write a.txt three"), finished("done"), shell("write a.txt four"), finished("done again"))
}

// TestCheckpointsOfSteps forks a turn of three steps after each of them, names the files
// that can be brought back there, and goes back into the middle of the turn.
func TestCheckpointsOfSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		times session.CheckpointTimes
		step  time.Duration // the bound of a step
		files []string      // after each step; "" where they are not known
		near  []int         // the step whose files are known there, -1 for the message before
		slow  bool
	}{
		"steps":      {session.CheckpointSteps, time.Minute, []string{"one", "two", "three"}, []int{0, 1, 2}, false},
		"turns":      {session.CheckpointTurns, time.Minute, []string{"", "", "three"}, []int{-1, -1, 2}, false},
		"slow steps": {session.CheckpointSteps, time.Nanosecond, []string{"one", "", "three"}, []int{0, 0, 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withCheckpoints(t, c.times, checkpoint.Options{StepTime: c.step, StepFiles: 1}, threeSteps())
			conv := h.begin(t, "")
			send(t, conv, "write it")
			settle(t, conv)
			done := h.events(t, conv.ID(), "ObservationEvent")
			asked := h.events(t, conv.ID(), "MessageEvent")[0]
			for i := range 3 {
				if got := forked(t, conv, done[i], "a.txt"); got != c.files[i] {
					t.Errorf("after step %d the fork has %q, want %q", i+1, got, c.files[i])
				}
				k, err := conv.Branches().FilesKept(t.Context(), done[i])
				want := asked
				if c.near[i] >= 0 {
					want = done[c.near[i]]
				}
				present := i == 2 // only finish has followed
				if err != nil || k.At != want || k.Time.IsZero() != present || k.Times != c.times || k.Slow != c.slow {
					t.Errorf("after step %d the files of %s are known: %+v, %v", i+1, want, k, err)
				}
			}
			last := done[3] // of finish: no action has followed
			if k, err := conv.Branches().FilesKept(t.Context(), last); err != nil || k.At != last || !k.Time.IsZero() {
				t.Errorf("at the end %+v, %v", k, err)
			}
			if got := forked(t, conv, last, "a.txt"); got != "three" {
				t.Errorf("at the end the fork has %q", got)
			}
			if c.files[0] == "" {
				return
			}
			u, err := conv.Branches().Undo(t.Context(), session.UndoOptions{To: done[0]})
			text, rerr := os.ReadFile(filepath.Join(h.work, "a.txt"))
			if err = errors.Join(err, rerr); err != nil || string(text) != "one" || cmp.Diff([]string{"a.txt"}, u.Files.Written) != "" {
				t.Errorf("undo to the first step: %q, %+v, %v", text, u, err)
			}
		})
	}
}

// TestStepWhileTheModelAnswers: the files of a step are kept before the answer is there.
func TestStepWhileTheModelAnswers(t *testing.T) {
	t.Parallel()
	h := withCheckpoints(t, session.CheckpointSteps, checkpoint.Options{}, nil)
	var c *session.Conversation
	script := threeSteps()
	h.model.answer = func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		// The n-th call sees the files of the message, or of n-1 steps.
		for want := h.model.calls(); ; {
			all, err := h.o.Checkpoints.All(ctx, h.work, c.ID())
			if err != nil || len(all) >= want {
				break
			}
		}
		return script(ctx, r)
	}
	c = h.begin(t, "")
	send(t, c, "write it")
	settle(t, c)
	if got := status(t, c); got != "finished" {
		t.Errorf("status %s", got)
	}
	if got := forked(t, c, h.events(t, c.ID(), "ObservationEvent")[1], "a.txt"); got != "two" {
		t.Errorf("after the second step the fork has %q", got)
	}
}
