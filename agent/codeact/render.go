package codeact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
)

// maxToolText is how many bytes of one result's text the model is shown
// (docs/openhands/sdk-features.md section 1, text limits).
const maxToolText = 50_000

// errorPrefix marks a failed result (docs/openhands/sdk-wire.md section 8).
const errorPrefix = "[An error occurred during execution.]"

// render returns the model's view of an observation.
func render(o event.Observation) []event.Content {
	r := o.Result()
	content := slices.Clone(r.Content)
	switch t := o.(type) {
	case *event.TerminalObservation:
		content = []event.Content{event.Text(terminalText(t))}
	case *event.BrowserObservation:
		if picture := t.Picture(); picture != "" {
			content = append(content, event.Image(picture))
		}
	case *event.TaskObservation: // the id is needed to go on with the task
		content = slices.Insert(content, 0, event.Text(fmt.Sprintf("[task_id: %s, subagent_type: %s, status: %s]", t.TaskID, t.Subagent, t.Status)))
	}
	if !slices.ContainsFunc(content, shows) {
		content = event.Texts("[no output]")
	}
	if r.IsError {
		content = slices.Insert(content, 0, event.Text(errorPrefix))
	}
	for i := range content {
		if content[i].Type == event.TypeText {
			content[i].Text = clip(content[i].Text, maxToolText)
		}
	}
	return content
}

// shows reports whether there is anything in c that a model can be shown.
func shows(c event.Content) bool {
	return len(c.ImageURLs) > 0 || strings.TrimSpace(c.Text) != ""
}

// terminalText adds the state of the shell to the output.
func terminalText(t *event.TerminalObservation) string {
	var b strings.Builder
	b.WriteString(t.Metadata.Prefix)
	b.WriteString(event.JoinText(t.Content))
	b.WriteString(t.Metadata.Suffix)
	if d := t.Metadata.WorkingDir; d != nil && *d != "" {
		fmt.Fprintf(&b, "\n[Current working directory: %s]", *d)
	}
	if p := t.Metadata.PyInterpreterPath; p != nil && *p != "" {
		fmt.Fprintf(&b, "\n[Python interpreter: %s]", *p)
	}
	return b.String()
}

// clip keeps the head and the tail of a text of more than limit bytes.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := strings.ToValidUTF8(s[:limit/2], "")
	tail := strings.ToValidUTF8(s[len(s)-limit/2:], "")
	return fmt.Sprintf("%s\n[%d bytes left out here]\n%s", head, len(s)-len(head)-len(tail), tail)
}
