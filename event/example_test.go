package event_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// TestCountAction is an action of another package.
type TestCountAction struct {
	event.ActionBase
	Word string `json:"word"`
}

func (*TestCountAction) Kind() string { return "TestCountAction" }

// TestCountObservation writes its own JSON.
type TestCountObservation struct {
	event.ObservationBase
	Count int
}

func (*TestCountObservation) Kind() string { return "TestCountObservation" }

func (o *TestCountObservation) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"content": o.Content, "is_error": o.IsError, "counted": o.Count})
}

func (o *TestCountObservation) UnmarshalJSON(b []byte) error {
	var v struct {
		Content event.List[event.Content] `json:"content"`
		IsError bool                      `json:"is_error"`
		Counted int                       `json:"counted"`
	}
	err := json.Unmarshal(b, &v)
	*o = TestCountObservation{event.ObservationBase{Content: v.Content, IsError: v.IsError}, v.Counted}
	return err
}

func init() {
	event.RegisterAction[TestCountAction]()
	event.RegisterObservation[TestCountObservation]()
}

func Example() {
	raw, err := event.MarshalAction(&TestCountAction{Word: "deft"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(raw))
	action, err := event.UnmarshalAction(raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch action := action.(type) {
	case *TestCountAction:
		fmt.Println("count", action.Word)
	case *event.UnknownAction:
		fmt.Println("nobody knows", action.Kind())
	}
	// Output:
	// {"word":"deft","kind":"TestCountAction"}
	// count deft
}

// A type with JSON methods of its own still gets its kind, alone and inside
// an event.
func TestOwnJSON(t *testing.T) {
	t.Parallel()
	want := &TestCountObservation{event.ObservationBase{Content: event.Texts("two")}, 2}
	raw, err := event.MarshalObservation(want)
	must.Succeed(t, err)
	if kindOf(raw) != want.Kind() {
		t.Errorf("no kind: %s", raw)
	}
	ev, err := event.Unmarshal(encoded(event.Marshal(&event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), Observation: want})))
	must.Succeed(t, err)
	if got, ok := ev.(*event.ObservationEvent).Observation.(*TestCountObservation); !ok || got.Count != 2 || got.Result().Content[0].Text != "two" {
		t.Errorf("got %#v", ev)
	}
}
