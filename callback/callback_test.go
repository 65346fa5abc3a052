package callback_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func TestNew(t *testing.T) {
	t.Parallel()
	callback.Register("Strict", callback.Kind{Events: "MessageEvent", New: func(document json.RawMessage) (callback.Processor, error) {
		if strings.Contains(string(document), "wrong") {
			return nil, fault.New(fault.Invalid, "it is wrong")
		}
		return nil, nil
	}})
	for document, want := range map[string]fault.Kind{
		`{"kind": "LoggingCallbackProcessor", "more": 1}`: "", `{"kind": "Strict"}`: "", `{"kind": "Strict", "a": "wrong"}`: fault.Invalid,
		`{"kind": "Other"}`: fault.Unsupported, `{}`: fault.Unsupported, `[`: fault.Invalid, `{"kind": 7}`: fault.Invalid,
	} {
		_, events, err := callback.New(json.RawMessage(document))
		if err == nil && want != "" || err != nil && fault.KindOf(err) != want {
			t.Errorf("%s: %v, want the kind %q", document, err, want)
		}
		if err == nil && (events == "MessageEvent") != strings.Contains(document, "Strict") {
			t.Errorf("%s: for events %q", document, events)
		}
		if want == fault.Unsupported && !strings.Contains(fault.HintOf(err), "LoggingCallbackProcessor, Strict") {
			t.Errorf("%s: %q does not say what there is", document, fault.HintOf(err))
		}
	}
}

// TestLogging: an event's id and kind are logged, and nothing that it says.
func TestLogging(t *testing.T) {
	t.Parallel()
	p, _, err := callback.New(json.RawMessage(`{"kind": "LoggingCallbackProcessor"}`))
	must.Succeed(t, err)
	var said strings.Builder
	ev := event.NewUserMessage("very private")
	out, err := p.Process(context.Background(), callback.Call{Callback: "c", Conversation: "conv", Event: ev, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil || out != (callback.Outcome{}) {
		t.Errorf("%+v, %v", out, err)
	}
	if !strings.Contains(said.String(), string(ev.ID)) || !strings.Contains(said.String(), "MessageEvent") || strings.Contains(said.String(), "private") {
		t.Errorf("the log says %s", said.String())
	}
}
