package event_test

import (
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
)

func TestParseConversationID(t *testing.T) {
	t.Parallel()
	const dashed, hex = "0123abcd-0000-4000-8000-00000000000f", "0123abcd00004000800000000000000f"
	for _, c := range []struct {
		in string
		ok bool
	}{
		{dashed, true},
		{hex, true},
		{"0123ABCD-0000-4000-8000-00000000000F", true},
		{"", false},
		{"{" + dashed + "}", false},
		{"urn:uuid:" + dashed, false},
		{"0123abcd-0000-4000-8000-00000000000g", false},
		{"../../../../../../../../etc/passwd/x/", false},
	} {
		id, ok := event.ParseConversationID(c.in)
		if ok != c.ok {
			t.Errorf("ParseConversationID(%q) ok = %v", c.in, ok)
		}
		if ok && (string(id) != dashed || id.Hex() != hex) {
			t.Errorf("ParseConversationID(%q) = %q, hex %q", c.in, id, id.Hex())
		}
	}
}

func TestTimestamp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 5000, time.Local)
	ts := event.At(at)
	if ts != "2026-11-21T12:00:00.000005" {
		t.Errorf("At gives %q", ts)
	}
	for _, in := range []event.Timestamp{ts, event.Timestamp(at.Format(time.RFC3339Nano)), event.Timestamp(at.UTC().Format(time.RFC3339Nano))} {
		if got, ok := in.Time(); !ok || !got.Equal(at) {
			t.Errorf("%q is %v, %v", in, got, ok)
		}
	}
	if _, ok := event.Timestamp("2026-11-21T12:00:00").Time(); !ok {
		t.Error("a time without fraction is refused")
	}
	if _, ok := event.Timestamp("yesterday").Time(); ok {
		t.Error("yesterday is a time")
	}
}

func TestMovesHead(t *testing.T) {
	t.Parallel()
	for _, kind := range event.EventKinds() {
		want := kind != "ConversationStateUpdateEvent"
		if got := event.MovesHead(event.NewOfKind(kind).(event.Event)); got != want {
			t.Errorf("MovesHead(%s) = %v", kind, got)
		}
	}
}
