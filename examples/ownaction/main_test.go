package main

import (
	"os"
	"testing"

	"github.com/deft-dev/deft/event"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {"id":"a1","timestamp":"2026-11-21T12:00:00.000000","source":"agent","thought":[],"thinking_blocks":[],"action":{"service":"shop","replicas":3,"kind":"DeployAction"},"tool_name":"deploy","tool_call_id":"call_1","tool_call":{"id":"call_1","name":"deploy","arguments":"{\"service\": \"shop\"}","origin":"completion"},"llm_response_id":"","security_risk":"UNKNOWN","kind":"ActionEvent"}
	//   carries *main.DeployAction
	// {"id":"o1","timestamp":"2026-11-21T12:00:01.000000","source":"environment","parent_id":"a1","tool_name":"deploy","tool_call_id":"call_1","observation":{"content":[{"cache_prompt":false,"type":"text","text":"3 of 3 are up"}],"is_error":false,"revision":"r42","kind":"DeployObservation"},"action_id":"a1","extended_content":[],"kind":"ObservationEvent"}
	//   carries *main.DeployObservation
}

func TestDefault(t *testing.T) {
	t.Parallel()
	a, err := event.UnmarshalAction([]byte(`{"service":"shop","kind":"DeployAction"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := a.(*DeployAction); !ok || d.Replicas != 1 {
		t.Errorf("got %#v, want one replica", a)
	}
}
