package event_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
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

func benchMarshal(b *testing.B, ev event.Event) {
	raw, err := event.Marshal(ev)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.Marshal(ev); err != nil {
			b.Fatal(err)
		}
	}
}

func benchUnmarshal(b *testing.B, ev event.Event) {
	raw, err := event.Marshal(ev)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.Unmarshal(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalAction(b *testing.B)        { benchMarshal(b, typicalAction()) }
func BenchmarkMarshalObservation(b *testing.B)   { benchMarshal(b, typicalObservation()) }
func BenchmarkUnmarshalAction(b *testing.B)      { benchUnmarshal(b, typicalAction()) }
func BenchmarkUnmarshalObservation(b *testing.B) { benchUnmarshal(b, typicalObservation()) }
