package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

// decodeAny decodes the value of any union by the ending of its kind.
func decodeAny(raw []byte) (any, error) {
	kind := kindOf(raw)
	switch {
	case slices.Contains(event.EventKinds(), kind):
		return event.Unmarshal(raw)
	case slices.Contains(event.ActionKinds(), kind):
		return event.UnmarshalAction(raw)
	case slices.Contains(event.ObservationKinds(), kind):
		return event.UnmarshalObservation(raw)
	}
	return nil, fmt.Errorf("kind %q is not registered", kind)
}

func encodeAny(v any) ([]byte, error) {
	switch v := v.(type) {
	case event.Event:
		return event.Marshal(v)
	case event.Action:
		return event.MarshalAction(v)
	case event.Observation:
		return event.MarshalObservation(v)
	}
	return nil, fmt.Errorf("%T is in no union", v)
}

func kindOf(raw []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(raw, &head)
	return head.Kind
}

// tree decodes JSON for comparison, with numbers as their values and without
// losing digits.
func tree(t testing.TB, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, raw)
	}
	return v
}

// sameNumber makes 30.0 and 30 equal, but not two different large integers.
var sameNumber = cmp.Comparer(func(a, b json.Number) bool {
	return a == b || strings.TrimSuffix(a.String(), ".0") == strings.TrimSuffix(b.String(), ".0")
})

type golden struct {
	name string
	raw  []byte
}

// goldens returns the samples of all files that match the pattern.
func goldens(t testing.TB, pattern string) []golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var all []golden
	for _, file := range files {
		b, err := os.ReadFile(file)
		must.Succeed(t, err)
		var samples []json.RawMessage
		if err := json.Unmarshal(b, &samples); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, s := range samples {
			var one bytes.Buffer
			must.Succeed(t, json.Compact(&one, s))
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			all = append(all, golden{fmt.Sprintf("%s/%d", name, i), one.Bytes()})
		}
	}
	return all
}

// The reference's stored form decodes to a known kind and encodes to the same
// JSON value.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "golden/*.json") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			v, err := decodeAny(g.raw)
			must.Succeed(t, err)
			out, err := encodeAny(v)
			must.Succeed(t, err)
			if diff := cmp.Diff(tree(t, g.raw), tree(t, out), sameNumber); diff != "" {
				t.Errorf("encodes differently (-reference +ours):\n%s", diff)
			}
			if !bytes.HasSuffix(out, []byte(`"kind":"`+kindOf(g.raw)+`"}`)) {
				t.Errorf("kind is not last: %s", out)
			}
			if bytes.IndexByte(out, '\n') >= 0 {
				t.Errorf("more than one line: %s", out)
			}
		})
	}
}

// No golden sample and no part of one falls back to an unknown.
func TestGoldenIsFullyKnown(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "golden/*.json") {
		v, err := decodeAny(g.raw)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if e, ok := v.(*event.ActionEvent); ok {
			v = e.Action
		}
		if e, ok := v.(*event.ObservationEvent); ok {
			v = e.Observation
		}
		switch v.(type) {
		case *event.Unknown, *event.UnknownAction, *event.UnknownObservation:
			t.Errorf("%s decodes to %T", g.name, v)
		}
	}
}

// json.Marshal and json.Unmarshal agree with the package's own functions for
// the types that hold a union member.
func TestStandardJSON(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "golden/*.json") {
		switch kindOf(g.raw) {
		case "ActionEvent":
			standardJSON(t, g, new(event.ActionEvent))
		case "ObservationEvent":
			standardJSON(t, g, new(event.ObservationEvent))
		}
	}
}

func standardJSON(t *testing.T, g golden, into event.Event) {
	t.Helper()
	if err := json.Unmarshal(g.raw, into); err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	out, err := json.Marshal(into)
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	if diff := cmp.Diff(tree(t, g.raw), tree(t, out), sameNumber); diff != "" {
		t.Errorf("%s (-want +got):\n%s", g.name, diff)
	}
}
