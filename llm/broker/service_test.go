package broker_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// TestHooksGetTheService checks calls for two services through one chain.
func TestHooksGetTheService(t *testing.T) {
	t.Parallel()
	var c clock
	var said []string
	o := broker.Options{Attempts: 2, Sleep: c.sleep, OnRetry: func(r broker.Retry) {
		said = append(said, fmt.Sprintf("%s: %s again, %d of %d", r.Service, r.Info.Name, r.Attempt, r.Of))
	}}
	f, err := broker.NewFallback(func(s broker.Switched) {
		said = append(said, fmt.Sprintf("%s: %s for %s", s.Service, s.To.Name, s.From.Name))
	}, broker.New(member("a", 0, failure(fault.Unavailable)), o), broker.New(member("b", 0, nil), o))
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"agent", "condenser"} {
		if _, err := f.Generate(broker.WithService(t.Context(), service), llm.Request{}, ignore); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Generate(t.Context(), llm.Request{}, ignore); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"agent: a again, 1 of 2", "agent: b for a", "condenser: a again, 1 of 2", "condenser: b for a", ": a again, 1 of 2", ": b for a",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
