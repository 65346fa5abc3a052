package runcommand

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

func TestTask(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "task"), " from a file\n")
	for name, tt := range map[string]struct {
		src  TaskSource
		want string // "!" and a part of the error
	}{
		"words":           {TaskSource{Words: []string{"fix", "it"}}, "fix it"},
		"file":            {TaskSource{File: file}, "from a file"},
		"input":           {TaskSource{Input: strings.NewReader("piped\n")}, "piped"},
		"input, optional": {TaskSource{Input: strings.NewReader("piped"), Optional: true}, ""},
		"nothing":         {TaskSource{}, "!no task"},
		"two":             {TaskSource{Words: []string{"x"}, File: file}, "!two tasks"},
		"no file":         {TaskSource{File: file + "x"}, "!cannot be read"},
		"blank":           {TaskSource{Words: []string{" "}}, "!is empty"},
		"not text":        {TaskSource{Input: strings.NewReader("a\xff")}, "!not text"},
		"a zero":          {TaskSource{Input: strings.NewReader("a\x00")}, "!not text"},
		"too long":        {TaskSource{Input: strings.NewReader(strings.Repeat("a", maxTask+1))}, "!larger than 1024 KiB"},
	} {
		got, err := tt.src.Read()
		if part, fails := strings.CutPrefix(tt.want, "!"); fails {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", name, err, part)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
	if got := Title("  one\ntwo"); got != "one" {
		t.Errorf("title %q", got)
	}
	if got := []rune(Title(strings.Repeat("ä", 100))); len(got) != 80 || got[79] != '…' {
		t.Errorf("a long title has %d characters: %s", len(got), string(got))
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status state.Status
		code   string
		want   int
	}{
		{state.Finished, "", 0}, {state.Idle, "", 0}, {state.Stuck, "", fault.ExitStuck}, {state.Paused, "", fault.ExitInterrupted},
		{state.Confirming, "", fault.ExitInterrupted}, {state.Errored, "MaxIterationsReached", fault.ExitLimit},
		{state.Errored, "LLMAuthenticationError", fault.ExitRefused}, {state.Errored, "LLMTimeoutError", fault.ExitUnavailable},
		{state.Errored, "StorageFull", fault.ExitStorage}, {state.Errored, "?", fault.ExitError},
	} {
		got := 0
		if exit, ok := errors.AsType[Exit](exitOf(tt.status, tt.code)); ok {
			got = int(exit)
		}
		if got != tt.want {
			t.Errorf("%s %s: exit code %d, want %d", tt.status, tt.code, got, tt.want)
		}
	}
}

func TestHasTask(t *testing.T) {
	t.Parallel()
	agent := &event.MessageEvent{Base: event.NewBase(event.SourceAgent)}
	if HasTask([]event.Event{agent}) || !HasTask([]event.Event{agent, event.NewUserMessage("x")}) {
		t.Error("only what a user says is a task")
	}
}
