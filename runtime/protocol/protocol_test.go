package protocol_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
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
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
		in.WriteString("\n\n")
	}
	d := protocol.NewDecoder(iotest.HalfReader(&in))
	for i, w := range want {
		got, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
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

// TestSecrets: they go over the wire and into nothing that is printed.
func TestSecrets(t *testing.T) {
	t.Parallel()
	q := protocol.Execute{Action: json.RawMessage(`{}`), Secrets: protocol.Secrets{"A": "hush"}}
	raw, err := json.Marshal(q)
	if err != nil || string(raw) != `{"action":{},"secrets":{"A":"hush"}}` {
		t.Errorf("on the wire: %s, %v", raw, err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "q", q, "s", q.Secrets)
	if shown := fmt.Sprintf("%v %+v %#v %s", q, q, q, q.Secrets) + log.String(); strings.Contains(shown, "hush") {
		t.Errorf("printed: %s", shown)
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
