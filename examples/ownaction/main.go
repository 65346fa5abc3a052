// Command ownaction shows how a program adds an Action and an Observation of
// its own to the vocabulary, without a change to Deft.
//
// # Usage
//
//	go run ./examples/ownaction
//
// It prints the JSON of an event that carries each, and the decoded event. A
// program that does not register them would decode them to [event.UnknownAction]
// and [event.UnknownObservation] and pass them on unchanged.
//
// # Concurrency and failure
//
// One goroutine; any error ends the program with status 1.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/deft-dev/deft/event"
)

// DeployAction asks for a release to be rolled out.
type DeployAction struct {
	event.ActionBase
	Service  string `json:"service"`
	Replicas int    `json:"replicas"` // 1 when absent
}

// Kind implements [event.Action].
func (*DeployAction) Kind() string { return "DeployAction" }

// SetDefaults implements [event.Defaulter].
func (a *DeployAction) SetDefaults() { a.Replicas = 1 }

// DeployObservation tells how the roll-out went.
type DeployObservation struct {
	event.ObservationBase
	Revision string `json:"revision"`
}

// Kind implements [event.Observation].
func (*DeployObservation) Kind() string { return "DeployObservation" }

func init() {
	event.RegisterAction[DeployAction]()
	event.RegisterObservation[DeployObservation]()
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ownaction:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	act := &event.ActionEvent{
		Base:     event.Base{ID: "a1", Timestamp: "2026-11-21T12:00:00.000000", Source: event.SourceAgent},
		ToolName: "deploy", ToolCallID: "call_1",
		ToolCall: event.ToolCall{ID: "call_1", Name: "deploy", Arguments: `{"service": "shop"}`, Origin: event.OriginCompletion},
		Action:   &DeployAction{Service: "shop", Replicas: 3},
	}
	done := &event.ObservationEvent{
		Base:     event.Base{ID: "o1", Timestamp: "2026-11-21T12:00:01.000000", Source: event.SourceEnvironment, ParentID: act.ID},
		ToolName: act.ToolName, ToolCallID: act.ToolCallID, ActionID: act.ID,
		Observation: &DeployObservation{
			ObservationBase: event.ObservationBase{Content: event.Texts("3 of 3 are up")},
			Revision:        "r42",
		},
	}
	for _, ev := range []event.Event{act, done} {
		if err := show(w, ev); err != nil {
			return err
		}
	}
	return nil
}

// show prints an event's JSON and its content after a round trip.
func show(w io.Writer, ev event.Event) error {
	raw, err := event.Marshal(ev)
	if err != nil {
		return err
	}
	back, err := event.Unmarshal(raw)
	if err != nil {
		return err
	}
	var carried any
	switch ev := back.(type) {
	case *event.ActionEvent:
		carried = ev.Action
	case *event.ObservationEvent:
		carried = ev.Observation
	}
	_, err = fmt.Fprintf(w, "%s\n  carries %T\n", raw, carried)
	return err
}
