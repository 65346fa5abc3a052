package runcommand

import (
	"testing"

	"github.com/deft-dev/deft/event"
)

// ran is a command with its result.
func ran(call, command, dir, text string, exit int) event.Event {
	o := &event.TerminalObservation{Command: &command, ExitCode: &exit}
	o.Content = event.Texts(text)
	o.Metadata.WorkingDir = &dir
	ev := &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), Observation: o}
	ev.ToolName, ev.ToolCallID = "terminal", call
	return ev
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"glob", "grep"} {
		files := func(call, text string) event.Event {
			o := &event.GlobObservation{}
			o.Content = event.Texts(text)
			ev := &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), Observation: o}
			ev.ToolName, ev.ToolCallID = tool, call
			return ev
		}
		if got := compare([]event.Event{files("a", "/w/b\n/w/a")}, []event.Event{files("a", "/w/a\n/w/b")}); len(got) > 0 {
			t.Errorf("another order of files of %s: %v", tool, got)
		}
		if got := compare([]event.Event{files("a", "/w/b\n/w/a")}, []event.Event{files("a", "/w/a\n/w/c")}); len(got) != 1 {
			t.Errorf("other files of %s: %v", tool, got)
		}
	}
	recorded := []event.Event{ran("a", "x", "/", "one\ntook 0.12s", 0), ran("b", "x", "/", "two", 0), ran("b", "x", "/", "three", 0)}
	for name, c := range map[string]struct {
		now  []event.Event
		want []difference
	}{
		"the same, at another speed": {
			[]event.Event{ran("a", "x", "/", "one\ntook 3 s", 0), ran("b", "x", "/", "two", 0), ran("b", "x", "/", "three\n", 0)}, nil,
		},
		"another line": {
			[]event.Event{ran("a", "x", "/", "one", 0), ran("b", "x", "/", "two", 0), ran("b", "x", "/", "four", 0)},
			[]difference{{1, "terminal", "took TIME", ""}, {3, "terminal", "three", "four"}},
		},
		"a slow step that has ended, or has not": {
			[]event.Event{ran("a", "x", "/", "one\ntook 1s", -1), ran("b", "x", "/", "two", 0)}, nil,
		},
		"another exit code": {
			[]event.Event{ran("a", "x", "/", "one\ntook 1s", 2)}, []difference{{1, "terminal", "exit code 0", "exit code 2"}},
		},
	} {
		got := compare(recorded, c.now)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got[i], c.want[i])
			}
		}
	}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"took 0.12s": "took TIME", "3 sec": "TIME", "12 seconds, 1 second": "TIME, TIME", "881 nsec per loop": "TIME per loop",
		"1.2 usec": "TIME", "5 msec": "TIME", "10µs": "TIME", "real\t0m1.234s\nuser\t0m0.1s": "real\tTIME\nuser\tTIME",
		"1h 2m 3s": "TIME", "2 minutes": "TIME", "12 files, 3 msgs": "12 files, 3 msgs", "v1.2s3": "v1.2s3",
	} {
		if got := steady(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
