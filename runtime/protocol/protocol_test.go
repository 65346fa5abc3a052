package protocol_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

func TestDecoder(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("é", 100<<10)
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	want := []protocol.Line{
		{Chunk: &tool.Chunk{Text: "a\nb"}},
		{Chunk: &tool.Chunk{Text: big}},
		{Observation: json.RawMessage(`{"kind":"X"}`)},
		{Error: &protocol.Error{Kind: fault.Interrupted, Message: "m", Hint: "h"}},
	}
	for _, l := range want {
		must.Succeed(t, enc.Encode(l))
		in.WriteString("\n\n")
	}
	d := protocol.NewDecoder(iotest.HalfReader(&in))
	for i, w := range want {
		got, err := d.Next()
		must.Succeed(t, err)
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := d.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("at the end: got %v", err)
	}
}

func TestDecoderRefuses(t *testing.T) {
	t.Parallel()
	for in, corrupt := range map[string]bool{
		"":                               false,
		`{"chunk":{"text":"cut"`:         false,
		`{"observation":{"kind":"X"}}`:   false, // no line end
		"{}\n":                           true,
		"null\n":                         true,
		"<html>\n":                       true,
		`{"chunk":{},"error":{}}` + "\n": true,
	} {
		_, err := protocol.NewDecoder(strings.NewReader(in)).Next()
		if got := fault.Is(err, fault.Corrupt); err == nil || got != corrupt {
			t.Errorf("%q: got error %v", in, err)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	want := tool.Request{
		Call: tool.Call{
			ID: "a", Action: &event.ThinkAction{Thought: "hm"}, Tool: "mcp_think",
			Secrets: tool.Secrets{"TOKEN": "hush"},
		},
		Again: true, Tail: true,
	}
	raw, err := protocol.EncodeRequest(want, []event.ID{"b"})
	must.Succeed(t, err)
	const wire = `{"action":{"thought":"hm","kind":"ThinkAction"},"tool":"mcp_think","again":true,"tail":true,"secrets":{"TOKEN":"hush"},"ack":["b"]}`
	if diff := cmp.Diff(wire, string(raw)); diff != "" {
		t.Errorf("on the wire (-want +got):\n%s", diff)
	}
	got, ack, err := protocol.DecodeRequest("a", raw)
	must.Succeed(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]event.ID{"b"}, ack); diff != "" {
		t.Errorf("acknowledged (-want +got):\n%s", diff)
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "[]", `{"action":7}`, `{"again":"yes"}`, `{"action":{}}`} {
		if _, _, err := protocol.DecodeRequest("a", []byte(in)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: got error %v, want one of kind invalid", in, err)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`{"chunk":{"text":"x"}}` + "\n" + `{"observation":{"kind":"X"}}` + "\n"))
	f.Add([]byte(`{"error":{"kind":"internal","message":"m"}}` + "\n"))
	f.Add([]byte("\n\n{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := protocol.NewDecoder(bytes.NewReader(b))
		for range len(b) + 1 {
			l, err := d.Next()
			if err != nil {
				return
			}
			if _, err := json.Marshal(l); err != nil {
				t.Fatalf("a decoded line does not encode: %v", err)
			}
		}
		t.Fatal("more lines than bytes")
	})
}
