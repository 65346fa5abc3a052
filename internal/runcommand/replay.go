package runcommand

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// RecordedWorkspace returns the directory in which a trajectory was recorded, as
// the directory of its first command shows it; "" if there is none.
func RecordedWorkspace(trajectory []event.Event) string {
	for _, ev := range trajectory {
		o, ok := ev.(*event.ObservationEvent)
		if !ok {
			continue
		}
		t, ok := o.Observation.(*event.TerminalObservation)
		if !ok || t.Metadata.WorkingDir == nil || !filepath.IsAbs(*t.Metadata.WorkingDir) {
			continue
		}
		dir := filepath.Clean(*t.Metadata.WorkingDir)
		if dir == "/" {
			return ""
		}
		// The command may have changed to a directory below it.
		if t.Command == nil {
			return dir
		}
		if m := changesDir().FindStringSubmatch(*t.Command); m != nil {
			dir = filepath.Clean(strings.TrimSuffix(dir, "/"+filepath.Clean(m[1])))
		}
		return dir
	}
	return ""
}

// changesDir matches a command that begins by changing to a relative directory.
var changesDir = lazyregexp.New(`^\s*cd\s+([A-Za-z0-9_.][A-Za-z0-9_./-]*)`)

// Moved returns a trajectory that was recorded in the directory from as it would
// be in the directory to: paths in the texts of its events are replaced.
func Moved(trajectory []event.Event, from, to string) ([]event.Event, error) {
	if from == "" {
		return trajectory, nil
	}
	if from = filepath.Clean(from); from == to || from == "/" {
		return trajectory, nil
	}
	out := make([]event.Event, len(trajectory))
	for i, ev := range trajectory {
		raw, err := event.Marshal(ev)
		if err != nil {
			return nil, err
		}
		var doc any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(moved(doc, from, to)); err != nil {
			return nil, err
		}
		if out[i], err = event.Unmarshal(raw); err != nil {
			return nil, fmt.Errorf("replace the workspace in event %d: %w", i+1, err)
		}
	}
	return out, nil
}

// moved replaces the path from in all texts of a JSON value.
func moved(v any, from, to string) any {
	switch v := v.(type) {
	case string:
		return movedText(v, from, to)
	case []any:
		for i := range v {
			v[i] = moved(v[i], from, to)
		}
	case map[string]any:
		for key := range v {
			v[key] = moved(v[key], from, to)
		}
	}
	return v
}

// movedText replaces from where it is a whole path or the beginning of one.
func movedText(s, from, to string) string {
	var b strings.Builder
	for done := 0; ; {
		i := strings.Index(s[done:], from)
		if i < 0 {
			b.WriteString(s[done:])
			return b.String()
		}
		start, end := done+i, done+i+len(from)
		b.WriteString(s[done:start])
		if (start == 0 || !inPath(s[start-1])) && ends(s[end:]) {
			b.WriteString(to)
		} else {
			b.WriteString(from)
		}
		done = end
	}
}

// inPath reports a character after which an absolute path does not begin.
func inPath(c byte) bool {
	return c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// ends reports whether the name of a directory ends before rest.
func ends(rest string) bool {
	switch {
	case rest == "" || rest[0] == '/':
		return true
	case rest[0] == '.': // the end of a sentence, or of a name
		return len(rest) == 1 || !inPath(rest[1])
	}
	return !inPath(rest[0])
}

// difference is a step of a replay whose result is not the recorded one.
type difference struct {
	Step int    `json:"step"` // from 1
	Tool string `json:"tool"`
	// Recorded and Now are the first lines that differ, or what differs beside
	// the text.
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

// outcomeOf returns what an event says about the result of an action.
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
	case o.exit != now.exit:
		return difference{Recorded: "exit code " + o.exit, Now: "exit code " + now.exit}, true
	case o.failed != now.failed:
		return difference{Recorded: o.state(), Now: now.state()}, true
	}
	was, is := strings.Split(steady(o.text), "\n"), strings.Split(steady(now.text), "\n")
	for i := range max(len(was), len(is)) {
		a, b := lineAt(was, i), lineAt(is, i)
		if a != b {
			return difference{Recorded: a, Now: b}, true
		}
	}
	return d, false
}

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
var duration = lazyregexp.New(`\b[0-9]+(\.[0-9]+)?\s?(ns|µs|us|ms|s|sec|seconds)\b`)

// steady returns a text without what differs each time.
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
