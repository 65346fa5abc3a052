package runcommand

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// difference is a step of a replay whose result is not the recorded one.
type difference struct {
	Step int    `json:"step"` // from 1
	Tool string `json:"tool"`
	// Recorded and Now are the first lines that differ, or the differences beside the
	// text.
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
}

func (d difference) String() string {
	return fmt.Sprintf("step %d (%s) differs: recorded %q, now %q", d.Step, d.Tool, d.Recorded, d.Now)
}

// outcome is the result of an action, as it is compared.
type outcome struct {
	tool, call, text string
	failed           bool
	exit             string
}

// outcomeOf returns an event's part about the result of an action.
func outcomeOf(ev event.Event) (o outcome, ok bool) {
	switch e := ev.(type) {
	case *event.ObservationEvent:
		r := e.Observation.Result()
		o = outcome{tool: e.ToolName, call: e.ToolCallID, text: event.JoinText(r.Content), failed: r.IsError}
		if t, isTerminal := e.Observation.(*event.TerminalObservation); isTerminal && t.ExitCode != nil {
			o.exit = fmt.Sprint(*t.ExitCode)
		}
	case *event.AgentErrorEvent:
		o = outcome{tool: e.ToolName, call: e.ToolCallID, text: e.Error, failed: true}
	default:
		return o, false
	}
	return o, true
}

// compare returns the steps of a replay whose results differ from the recorded
// ones. Both lists are in order.
func compare(recorded, now []event.Event) []difference {
	again := map[string][]outcome{} // by call
	for _, ev := range now {
		if o, ok := outcomeOf(ev); ok {
			again[o.call] = append(again[o.call], o)
		}
	}
	var out []difference
	step := 0
	for _, ev := range recorded {
		was, ok := outcomeOf(ev)
		if !ok {
			continue
		}
		step++
		list := again[was.call]
		if len(list) == 0 {
			continue // it was not reached, or was no action that could be repeated
		}
		again[was.call] = list[1:]
		if d, differs := was.against(list[0]); differs {
			d.Step, d.Tool = step, was.tool
			out = append(out, d)
		}
	}
	return out
}

// against says how a result differs from the recorded one.
func (o outcome) against(now outcome) (d difference, differs bool) {
	switch {
	case o.unfinished() || now.unfinished():
		return d, false // how far it came in its time says nothing
	case o.exit != now.exit:
		return difference{Recorded: "exit code " + o.exit, Now: "exit code " + now.exit}, true
	case o.failed != now.failed:
		return difference{Recorded: o.state(), Now: now.state()}, true
	}
	was, is := strings.Split(steady(o.text), "\n"), strings.Split(steady(now.text), "\n")
	if o.tool == "glob" || o.tool == "grep" { // they list the files that were changed last first
		slices.Sort(was)
		slices.Sort(is)
	}
	for i := range max(len(was), len(is)) {
		a, b := lineAt(was, i), lineAt(is, i)
		if a != b {
			return difference{Recorded: a, Now: b}, true
		}
	}
	return d, false
}

// unfinished reports whether a command ran on when its result was given.
func (o outcome) unfinished() bool { return o.exit == "-1" }

func (o outcome) state() string {
	line, _, _ := strings.Cut(o.text, "\n")
	if o.failed {
		return "failed: " + line
	}
	return line
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	return lines[i]
}

// duration matches how long something took, which differs each time.
var duration = lazyregexp.New(`\b[0-9]+(\.[0-9]+)? ?(h|m|min|mins|minutes?|[nµum]?s|[num]?secs?|(nano|micro|milli)?seconds?)( ?[0-9]+(\.[0-9]+)? ?(h|m|s|ms))*\b`)

// steady returns a text without the parts that differ each time.
func steady(s string) string {
	return strings.TrimSpace(duration().ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "TIME"))
}

// compareReplay compares the results of a replay, which are stored from seq on,
// with the recorded ones, and shows the differences.
func (r *runner) compareReplay(ctx context.Context, from eventstream.Seq) error {
	var now []event.Event
	for rec, err := range r.Sessions.Store().Read(ctx, r.ID, from) {
		if err != nil {
			return fmt.Errorf("read what was replayed: %w", err)
		}
		ev, err := rec.Event()
		if err != nil {
			return fmt.Errorf("event %d: %w", rec.Seq, err)
		}
		now = append(now, ev)
	}
	r.view.differences = compare(r.Replay, now)
	for _, d := range r.view.differences {
		r.view.Warn(safeText(d.String()))
	}
	return nil
}

// replayed is the error of a replay whose results differ.
func (r *runner) replayed() error {
	if len(r.view.differences) == 0 {
		return nil
	}
	return Exit(fault.ExitError)
}

// ReadTrajectory reads the file of --replay.
func ReadTrajectory(path string) ([]event.Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the trajectory cannot be read").Because(err).Hint("check --replay")
	}
	defer f.Close()
	evs, err := openhands.ReadTrajectory(f)
	if err != nil {
		return nil, fmt.Errorf("read trajectory %s: %w", path, err)
	}
	if !hasTask(evs) {
		return nil, fault.New(fault.Invalid, "the trajectory "+path+" has no user message to replay").Hint("check --replay")
	}
	return evs, nil
}
