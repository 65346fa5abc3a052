package controller

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// RecordedWorkspace returns the directory in which a trajectory was recorded, as the
// agent was told it, or as the directory of its first command shows it, or a search that
// names no directory; "" if there is nothing of that.
func RecordedWorkspace(trajectory []event.Event) string {
	asked := map[event.ID]event.Action{}
	for _, ev := range trajectory {
		if prompt, ok := ev.(*event.SystemPromptEvent); ok {
			if m := toldDir().FindStringSubmatch(prompt.Text()); m != nil && filepath.Clean(m[1]) != "/" {
				return filepath.Clean(m[1])
			}
		}
		if a, ok := ev.(*event.ActionEvent); ok {
			asked[a.ID] = a.Action
		}
		o, ok := ev.(*event.ObservationEvent)
		if !ok {
			continue
		}
		if dir := searched(o, asked); dir != "" {
			return dir
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
		for _, m := range slices.Backward(changesDir().FindAllStringSubmatch(*t.Command, -1)) {
			dir = filepath.Clean(strings.TrimSuffix(dir, "/"+filepath.Clean(m[1])))
		}
		return dir
	}
	return ""
}

// searched returns the directory of a search for which none was given, "" for another result.
func searched(o *event.ObservationEvent, asked map[event.ID]event.Action) string {
	dir := ""
	switch result := o.Observation.(type) {
	case *event.GlobObservation:
		if a, ok := asked[o.ActionID].(*event.GlobAction); ok && a.Path == nil {
			dir = result.SearchPath
		}
	case *event.GrepObservation:
		if a, ok := asked[o.ActionID].(*event.GrepAction); ok && a.Path == nil {
			dir = result.SearchPath
		}
	}
	if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
		return ""
	}
	return filepath.Clean(dir)
}

// toldDir finds the working directory in a system prompt of Deft's agents.
var toldDir = lazyregexp.New(`(?m)^Working directory: (/.*)$`)

// changesDir finds the places where a command changes to a relative directory.
var changesDir = lazyregexp.New(`(?:^|&&|;|\n)\s*cd\s+([A-Za-z0-9_.][A-Za-z0-9_./-]*)`)

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
