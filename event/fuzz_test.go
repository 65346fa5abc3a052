package event_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

// Nothing panics; input that decodes also encodes, as valid JSON, and that decodes
// and encodes to the same bytes.
func FuzzUnmarshal(f *testing.F) {
	for _, pattern := range []string{"golden/*.json", "unknown/*.json"} {
		for _, g := range goldens(f, pattern) {
			f.Add(g.raw)
		}
	}
	f.Add([]byte(`{"id":"\ud800","kind":"FutureEvent"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		if ev, err := event.Unmarshal(raw); err == nil {
			stable(t, ev, event.Marshal, event.Unmarshal)
		}
		if a, err := event.UnmarshalAction(raw); err == nil && a != nil {
			stable(t, a, event.MarshalAction, event.UnmarshalAction)
		}
		if o, err := event.UnmarshalObservation(raw); err == nil {
			stable(t, o, event.MarshalObservation, event.UnmarshalObservation)
		}
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
	})
}

func stable[T any](t *testing.T, v T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	first, err := encode(v)
	if err != nil {
		t.Fatalf("decoded but does not encode: %v", err)
	}
	if !json.Valid(first) {
		t.Fatalf("not JSON: %s", first)
	}
	back, err := decode(first)
	if err != nil {
		t.Fatalf("encoded but does not decode: %v\n%s", err, first)
	}
	second, err := encode(back)
	must.Succeed(t, err)
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Fatalf("(-first +second):\n%s", diff)
	}
}
