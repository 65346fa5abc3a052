package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// secrets reach the tool of their own action as they are, and nothing that is
// printed.
func secrets(t *testing.T, open Open) {
	got := make(chan tool.Call, 8)
	rt := start(t, open, func(_ context.Context, c tool.Call) (event.Observation, error) {
		got <- c
		if len(c.Secrets) > 1 {
			return nil, errors.New("too many")
		}
		return Observation("done"), nil
	})
	for name, want := range map[string]tool.Secrets{
		"none":    nil,
		"one":     {"TOKEN": "hush \"'\n é\x01<&>"},
		"failing": {"A": "hush", "B": strings.Repeat("hush ", 50<<10)},
	} {
		q := tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action(name), Secrets: want}}
		obs, err := rt.Execute(t.Context(), q)
		if name == "failing" {
			wantKind(t, err, fault.Internal)
		} else {
			wantText(t, obs, err, "done")
		}
		call := <-got
		if !cmp.Equal(map[string]string(want), map[string]string(call.Secrets)) {
			t.Errorf("%s: the tool got others", name)
		}
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "q", q, "secrets", q.Secrets)
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "secrets", q.Secrets)
		shown := fmt.Sprintf("%v %+v %#v %s %q %x %v %v", q.Secrets, q.Secrets, q.Secrets, q.Secrets, q.Secrets, q.Secrets, call, err) + log.String()
		if strings.Contains(shown, "hush") || strings.Contains(shown, fmt.Sprintf("%x", "hush")) {
			t.Errorf("%s: a value is shown", name)
		}
	}
}
