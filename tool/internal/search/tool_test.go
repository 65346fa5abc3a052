package search_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/search"
)

// TestScopeRun holds the bounds of a search and their description.
func TestScopeRun(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a", "b")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	many := func(_ context.Context, add func(string)) error {
		for range search.MaxResults + 1 {
			add(a)
		}
		return nil
	}
	for name, tt := range map[string]struct {
		limit     time.Duration
		find      func(context.Context, func(string)) error
		total     int
		truncated bool
		report    string
	}{
		"none": {0, func(context.Context, func(string)) error { return nil }, 0, false, "nothing"},
		"two":  {0, func(_ context.Context, add func(string)) error { add(b); add(a); return nil }, 2, false, "2 files here, newest first:\n"},
		"many": {0, many, search.MaxResults + 1, true, "\n[Only the newest 100 are shown; use a narrower path.]"},
		"late": {time.Nanosecond, func(ctx context.Context, add func(string)) error {
			add(a)
			<-ctx.Done()
			return ctx.Err()
		}, 1, true, "\n[The search was stopped after 1ns"},
	} {
		r := search.Scope{Workspace: dir, Timeout: tt.limit}.Run(t.Context(), tt.find)
		if got := r.Report("nothing", "here", "path"); r.Total != tt.total || r.Truncated != tt.truncated || !strings.Contains(got, tt.report) {
			t.Errorf("%s: %d files, truncated %v: %s", name, r.Total, r.Truncated, got)
		}
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	d := search.Definition("glob", "Glob", " text\n", tool.DecodeInto[event.GlobAction], tool.Property{Name: "pattern", Type: "string", Required: true})
	a, err := d.Decode(json.RawMessage(`{"pattern":"x"}`))
	if err != nil || d.Description != "text" || d.Kind != "GlobTool" || d.ActionKind != "GlobAction" || d.ObservationKind != "GlobObservation" || !d.Annotations.ReadOnly || d.Locks(a) != nil {
		t.Errorf("%+v, %v", d, err)
	}
}
