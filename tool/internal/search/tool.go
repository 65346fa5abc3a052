package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// The bounds of a search.
const (
	MaxResults     = 100
	DefaultTimeout = 30 * time.Second
)

// Definition describes a tool that searches and changes nothing. kind is the
// first part of the names of its kinds: "Glob" of GlobTool.
func Definition(name, kind, description string, decode func(json.RawMessage) (event.Action, error), props ...tool.Property) *tool.Definition {
	return &tool.Definition{
		Name:            name,
		Kind:            kind + "Tool",
		Description:     strings.TrimSpace(description),
		Parameters:      tool.Schema{Properties: props},
		Annotations:     event.Annotations{ReadOnly: true, Idempotent: true},
		ActionKind:      kind + "Action",
		ObservationKind: kind + "Observation",
		Locks:           func(event.Action) []string { return nil },
		Decode:          decode,
	}
}

// Scope is where a tool searches, and for how long.
type Scope struct {
	// Workspace is the absolute directory that is searched by default.
	Workspace string
	// Timeout ends a search; the files found until then are returned. Defaults to
	// DefaultTimeout.
	Timeout time.Duration
}

// At is the path of an action, or the workspace.
func (s Scope) At(path *string) string {
	if path != nil && *path != "" {
		return *path
	}
	return s.Workspace
}

// Result is the result of a search.
type Result struct {
	Paths     []string // the newest, at most MaxResults
	Total     int
	Truncated bool // there is more, or the search ended early

	why string // it ended early
}

// Run collects the files that find adds, until the time is up.
func (s Scope) Run(ctx context.Context, find func(ctx context.Context, add func(path string)) error) Result {
	limit := cmp.Or(max(s.Timeout, 0), DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := NewNewest(MaxResults)
	err := find(ctx, found.Add)
	return Result{
		Paths: found.Paths(), Total: found.Total(), Truncated: err != nil || found.Total() > MaxResults,
		why: Why(ctx, err, limit),
	}
}

// Report returns the result as text: none if there is no file, otherwise the
// files' common part ("in /w match *.go"), the files, and how to get fewer of them
// ("pattern or path").
func (r Result) Report(none, common, fewer string) string {
	var b strings.Builder
	if r.Total == 0 {
		b.WriteString(none)
	} else {
		fmt.Fprintf(&b, "%d files %s, newest first:\n%s", r.Total, common, strings.Join(r.Paths, "\n"))
	}
	if r.Total > len(r.Paths) {
		fmt.Fprintf(&b, "\n[Only the newest %d are shown; use a narrower %s.]", len(r.Paths), fewer)
	}
	if r.why != "" {
		b.WriteString("\n[" + r.why + "]")
	}
	return b.String()
}
