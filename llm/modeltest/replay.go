package modeltest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// sample is the expected result of a stream in testdata, stored beside it as
// JSON. The streams have the form of the providers' documentation and of their
// SDKs' tests.
type sample struct {
	Text      string       `json:"text,omitempty"`
	Reasoning string       `json:"reasoning,omitempty"`
	Signed    []string     `json:"signed,omitempty"` // signatures and redacted data
	Calls     []sampleCall `json:"calls,omitempty"`
	Finish    llm.Finish   `json:"finish,omitempty"`
	Usage     llm.Usage    `json:"usage"`
	Model     string       `json:"model,omitempty"`
	Error     fault.Kind   `json:"error,omitempty"`
	Partial   bool         `json:"partial,omitempty"`
}

type sampleCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Replay serves each *.sse file of dir as an answer and compares the adapter's
// result with the *.json file of the same name.
func Replay(t *testing.T, dir string, a Adapter) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream, err := os.ReadFile(file)
			must.Succeed(t, err)
			golden, err := os.ReadFile(strings.TrimSuffix(file, ".sse") + ".json")
			must.Succeed(t, err)
			var want sample
			must.Succeed(t, json.Unmarshal(golden, &want))
			// Whole, and with the line ends that some proxies make.
			for _, text := range []string{string(stream), strings.ReplaceAll(string(stream), "\n", "\r\n")} {
				if diff := cmp.Diff(want, replay(t, a, text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}

// replay makes one call that is answered with the stream, byte group by byte
// group.
func replay(t *testing.T, a Adapter, stream string) sample {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := stream; rest != ""; {
			n := min(len(rest), 97) // no boundary of anything
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				return // the client has seen enough
			}
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
	}))
	defer srv.Close()
	m, err := a.New(llm.Config{Model: a.Model, BaseURL: srv.URL + a.Path, APIKey: "k"})
	must.Succeed(t, err)
	b := &bench{t: t, model: m, stream: true}
	r := hello()
	r.Tools = tools
	o := b.ask(t.Context(), r)
	if o.err != nil {
		got := sample{Text: o.text, Reasoning: o.reasoning, Error: fault.KindOf(o.err)}
		if e, ok := errors.AsType[*llm.Error](o.err); ok {
			got.Partial = e.Partial
		}
		return got
	}
	got := sample{
		Text: event.JoinText(o.resp.Message.Content), Reasoning: o.resp.Message.ReasoningContent,
		Finish: o.resp.Finish, Usage: o.resp.Usage, Model: o.resp.Model,
	}
	if got.Text != o.text || got.Reasoning != o.reasoning {
		t.Errorf("deltas say %q and think %q, the message %q and %q", o.text, o.reasoning, got.Text, got.Reasoning)
	}
	for _, c := range o.resp.Message.ToolCalls {
		got.Calls = append(got.Calls, sampleCall{c.ID, c.Name, c.Arguments})
	}
	for _, block := range o.resp.Message.ThinkingBlocks {
		got.Signed = append(got.Signed, block.Signature+block.Data)
	}
	return got
}
