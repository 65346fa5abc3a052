package executor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

func echo(_ context.Context, c tool.Call) (event.Observation, error) {
	return thought(c.Action.(*event.ThinkAction).Thought), nil
}

// fill runs n actions named a0, a1, … in a first process with boot id "boot".
func fill(t *testing.T, path string, n int) {
	t.Helper()
	x := open(t, path, "boot", echo)
	for i := range n {
		if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.ID(fmt.Sprint("a", i)), Action: think(fmt.Sprint("text ", i))}}); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, x)
}

func TestResultsSurviveARestart(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	fill(t, path, 3)
	x := open(t, path, "boot", func(context.Context, tool.Call) (event.Observation, error) {
		t.Error("a finished action was run again")
		return nil, nil
	})
	for i := range 3 {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.ID(fmt.Sprint("a", i))}, Again: true})
		must.Succeed(t, err)
		if got, want := textOf(t, obs), fmt.Sprint("text ", i); got != want {
			t.Errorf("a%d: got %q, want %q", i, got, want)
		}
	}
}

// TestAbsence says when an unknown id that may have been asked for before is
// run and when it is not.
func TestAbsence(t *testing.T) {
	t.Parallel()
	cut := func(n int) func(b []byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	flip := func(at int) func(b []byte) []byte {
		return func(b []byte) []byte { b[at] ^= 0x10; return b }
	}
	for _, tc := range []struct {
		name   string
		damage func([]byte) []byte
		boot   string
		runs   bool
	}{
		{"intact", nil, "boot", true},
		{"torn last record", cut(3), "boot", true},
		{"torn frame head", func(b []byte) []byte { return append(b, 1, 2, 3) }, "boot", true},
		{"machine booted since", nil, "other", false},
		{"boot id unknown", nil, "", false},
		{"magic damaged", flip(0), "boot", false},
		{"proof damaged", flip(8), "boot", false},
		{"length damaged", flip(executor.HeaderSize + 2), "boot", false},
		{"body damaged", flip(executor.HeaderSize + executor.FrameHead + 2), "boot", false},
		{"header cut", func(b []byte) []byte { return b[:20] }, "boot", false},
		{"emptied", func([]byte) []byte { return nil }, "boot", false},
		{"zeroes at the end", func(b []byte) []byte { return append(b, make([]byte, 100)...) }, "boot", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := journalPath(t)
			fill(t, path, 3)
			if tc.damage != nil {
				b, err := os.ReadFile(path)
				must.Succeed(t, err)
				must.Succeed(t, os.WriteFile(path, tc.damage(b), 0o600))
			}
			// The second process may end early too: the third decides the same.
			for reopened := range 2 {
				x := open(t, path, tc.boot, echo)
				id := event.ID(fmt.Sprint("new", reopened))
				_, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: think("")}, Again: true})
				if tc.runs && err != nil {
					t.Errorf("reopened %d: %v", reopened, err)
				}
				if !tc.runs && !fault.Is(err, fault.Interrupted) {
					t.Errorf("reopened %d: got error %v, want interrupted", reopened, err)
				}
				shut(t, x)
			}
		})
	}
}

func TestFreshJournalProvesAfterFirstNewAction(t *testing.T) {
	t.Parallel()
	x := open(t, journalPath(t), "boot", echo)
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "old", Action: think("")}, Again: true}); !fault.Is(err, fault.Interrupted) {
		t.Fatalf("got error %v, want interrupted", err)
	}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "new", Action: think("")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "next", Action: think("")}, Again: true}); err != nil {
		t.Fatal(err)
	}
}

// TestPreparedJournalProves covers an action that was stored and, because its
// controller died, never asked for.
func TestPreparedJournalProves(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	x := open(t, path, "boot", echo)
	must.Succeed(t, x.Prepare())
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}, Again: true}); err != nil {
		t.Error(err)
	}
	shut(t, x)
	if err := x.Prepare(); !fault.Is(err, fault.Unavailable) {
		t.Errorf("closed: got error %v, want unavailable", err)
	}
	x = open(t, path, "boot", echo)
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "b", Action: think("")}, Again: true}); err != nil {
		t.Errorf("in the next process: %v", err)
	}
	shut(t, x)
	x = open(t, path, "another boot", echo)
	must.Succeed(t, x.Prepare())
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "c", Action: think("")}, Again: true}); !fault.Is(err, fault.Interrupted) {
		t.Errorf("after a crash of the machine: got error %v, want interrupted", err)
	}
}

func TestRecordsBehindDamageAreKept(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	fill(t, path, 5)
	b, err := os.ReadFile(path)
	must.Succeed(t, err)
	b[bytes.Index(b, []byte("text 1"))] ^= 1
	must.Succeed(t, os.WriteFile(path, b, 0o600))
	x := open(t, path, "boot", echo)
	for i, want := range []bool{true, false, true, true, true} {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.ID(fmt.Sprint("a", i))}, Again: true})
		if want && (err != nil || textOf(t, obs) != fmt.Sprint("text ", i)) {
			t.Errorf("a%d: got %v, %v", i, obs, err)
		}
		if !want && !fault.Is(err, fault.Interrupted) {
			t.Errorf("a%d: got error %v, want interrupted", i, err)
		}
	}
}

func TestStartedByAnEarlierProcessIsInterrupted(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	fill(t, path, 1)
	b, err := os.ReadFile(path)
	must.Succeed(t, err)
	// Cutting one byte leaves the started record whole and tears the other.
	must.Succeed(t, os.WriteFile(path, b[:len(b)-1], 0o600))
	x := open(t, path, "boot", echo)
	for _, again := range []bool{true, false, true} {
		_, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a0", Action: think("")}, Again: again})
		if !fault.Is(err, fault.Interrupted) {
			t.Errorf("again %v: got error %v, want interrupted", again, err)
		}
	}
}

func TestOneServerAtATime(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	open(t, path, "boot", echo)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must.Succeed(t, err)
	if _, err := executor.OpenJournal(f); !fault.Is(err, fault.Conflict) {
		t.Errorf("got error %v, want conflict", err)
	}
}

// TestCompaction runs far more output through the journal than it may keep,
// with one result never acknowledged and one action running all the while.
func TestCompaction(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	release := make(chan struct{})
	x := open(t, path, "boot", func(ctx context.Context, c tool.Call) (event.Observation, error) {
		if c.ID == "running" {
			<-release
		}
		return echo(ctx, c)
	})
	ask := func(id event.ID, text string) error {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: think(text)}})
		if err == nil && textOf(t, obs) != text {
			err = fmt.Errorf("wrong text for %s", id)
		}
		return err
	}
	must.Succeed(t, ask("kept", "keep me"))
	running := make(chan error, 1)
	go func() { running <- ask("running", "run me") }()
	big := strings.Repeat("x", 100<<10)
	var largest int64
	for i := range 50 {
		id := event.ID(fmt.Sprint("big", i))
		must.Succeed(t, ask(id, big))
		must.Succeed(t, x.Ack(id))
		info, err := os.Stat(path)
		must.Succeed(t, err)
		largest = max(largest, info.Size())
	}
	if limit := int64(executor.CompactAt + 300<<10); largest > limit {
		t.Errorf("the journal grew to %d bytes, want at most %d", largest, limit)
	}
	close(release)
	must.Succeed(t, <-running)
	shut(t, x)
	x = open(t, path, "boot", echo)
	for id, want := range map[event.ID]string{"kept": "keep me", "running": "run me"} {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id}, Again: true})
		if err != nil || textOf(t, obs) != want {
			t.Errorf("%s: got %v, %v", id, obs, err)
		}
	}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "never", Action: think("")}, Again: true}); err != nil {
		t.Errorf("a compacted journal no longer proves absence: %v", err)
	}
}

// TestCompactionCutShort ends the process between any two steps.
func TestCompactionCutShort(t *testing.T) {
	t.Parallel()
	for steps := range 6 {
		path := journalPath(t)
		j := reopen(t, path, "boot")
		x := executor.New(map[string]tool.Executor{"ThinkAction": toolFunc(echo)}, j)
		for _, id := range []event.ID{"dead", "live", "dead2"} {
			if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: think(strings.Repeat(string(id), 50))}}); err != nil {
				t.Fatal(err)
			}
		}
		must.Succeed(t, x.Ack("dead", "dead2"))
		must.Succeed(t, j.CompactPartly(steps))
		shut(t, x)
		for reopened := range 2 {
			x = open(t, path, "boot", echo)
			obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "live"}, Again: true})
			if err != nil || textOf(t, obs) != strings.Repeat("live", 50) {
				t.Errorf("%d steps, reopened %d: got %v, %v", steps, reopened, obs, err)
			}
			id := event.ID(fmt.Sprint("never", reopened))
			if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: think("")}, Again: true}); err != nil {
				t.Errorf("%d steps, reopened %d: a missing id is no proof any more: %v", steps, reopened, err)
			}
			shut(t, x)
		}
	}
}

// FuzzJournal opens arbitrary bytes as a journal. Whatever they are, records
// written afterwards read back in the next process.
func FuzzJournal(f *testing.F) {
	f.Add([]byte{}, uint16(0), byte(0))
	f.Add([]byte("deftjrn1"), uint16(3), byte(1))
	seed := f.TempDir() + "/seed"
	file, err := os.Create(seed)
	must.Succeed(f, err)
	j, err := executor.OpenJournalOfBoot(file, "boot")
	must.Succeed(f, err)
	x := executor.New(map[string]tool.Executor{"ThinkAction": toolFunc(echo)}, j)
	for _, id := range []event.ID{"s0", "s1"} {
		if _, err := x.Execute(f.Context(), tool.Request{Call: tool.Call{ID: id, Action: think("hello")}}); err != nil {
			f.Fatal(err)
		}
	}
	must.Succeed(f, x.Close(f.Context()))
	whole, err := os.ReadFile(seed)
	must.Succeed(f, err)
	for at := 0; at < len(whole); at += 7 {
		f.Add(whole, uint16(at), byte(0x41))
		f.Add(whole[:at], uint16(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16, x byte) {
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= x
		}
		// In memory: syncing to a disk would leave no time for fuzzing. Opened
		// by this name it is a new description, as the lock needs it.
		fd, err := unix.MemfdCreate("journal", unix.MFD_CLOEXEC)
		must.Succeed(t, err)
		file := os.NewFile(uintptr(fd), "journal")
		defer file.Close()
		path := fmt.Sprint("/proc/self/fd/", fd)
		if _, err := file.Write(b); err != nil {
			t.Fatal(err)
		}
		first := open(t, path, "boot", echo)
		if _, err := first.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "fuzzed", Action: think("after")}}); err != nil {
			t.Fatal(err)
		}
		shut(t, first)
		second := open(t, path, "boot", echo)
		obs, err := second.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "fuzzed"}, Again: true})
		if err != nil || textOf(t, obs) != "after" {
			t.Fatalf("got %v, %v", obs, err)
		}
		shut(t, second)
	})
}
