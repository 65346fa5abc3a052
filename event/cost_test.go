package event_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// output resembles the output of a build: 30 KB in short lines with some escapes.
var output = strings.Repeat("ok  \texample.org/pkg/name\t0.012s \"quoted\" <path/to/file.go:42>\n", 470)

func typicalObservation() *event.ObservationEvent {
	return &event.ObservationEvent{
		Base:       event.NewBase(event.SourceEnvironment),
		ToolName:   "terminal",
		ToolCallID: "call_1",
		ActionID:   event.NewID(),
		Observation: &event.TerminalObservation{
			ObservationBase: event.ObservationBase{Content: event.Texts(output)},
			Command:         new("go test ./..."),
			ExitCode:        new(0),
			Metadata:        event.TerminalMetadata{PID: -1, WorkingDir: new("/workspace")},
		},
	}
}

func typicalAction() *event.ActionEvent {
	return &event.ActionEvent{
		Base:       event.NewBase(event.SourceAgent),
		Thought:    event.Texts("I run the tests first to see what fails."),
		Action:     &event.TerminalAction{Command: "go test ./...", Timeout: new(120.0)},
		ToolName:   "terminal",
		ToolCallID: "call_1",
		ToolCall:   event.ToolCall{ID: "call_1", Name: "terminal", Arguments: `{"command": "go test ./..."}`, Origin: event.OriginCompletion},
		Summary:    "run all tests",
	}
}

// TestCost bounds the allocations of the encodings that each event goes through, at twice
// their number: the race detector adds some. It is not parallel, because it counts them.
func TestCost(t *testing.T) {
	for name, c := range map[string]struct {
		ev           event.Event
		encode, read float64
	}{
		"action":      {typicalAction(), 10, 50},
		"observation": {typicalObservation(), 10, 50},
	} {
		raw, err := event.Marshal(c.ev)
		must.Succeed(t, err)
		encode := testing.AllocsPerRun(100, func() { _, err = event.Marshal(c.ev) })
		must.Succeed(t, err)
		read := testing.AllocsPerRun(100, func() { _, err = event.Unmarshal(raw) })
		must.Succeed(t, err)
		if encode > c.encode || read > c.read {
			t.Errorf("%s: %v allocations to encode and %v to read it, want at most %v and %v", name, encode, read, c.encode, c.read)
		}
	}
}
