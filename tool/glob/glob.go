// Package glob is the tool that finds files by name.
//
// # Usage
//
//	def := glob.Definition()
//	exec := glob.New(glob.Config{Workspace: "/workspace"})
//
// Which files are looked at is said in package search. The walk is our own on
// every machine, so results do not depend on installed programs.
//
// # Concurrency and failure
//
// The executor is safe for concurrent use and takes bounded memory. A bad
// pattern or path is an observation with IsError set; a search that takes too
// long or is interrupted returns what it found, marked as truncated.
package glob

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/search"
)

//go:embed glob.md
var description string

// The bounds of a search.
const (
	MaxResults     = 100
	DefaultTimeout = 30 * time.Second
)

// Definition describes the tool (tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "glob",
		Kind:        "GlobTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "pattern", Type: "string", Required: true, Description: "The glob pattern."},
			{Name: "path", Type: "string", Description: "Directory to search in; the working directory when absent."},
		}},
		Annotations:     event.Annotations{ReadOnly: true, Idempotent: true},
		ActionKind:      "GlobAction",
		ObservationKind: "GlobObservation",
		Locks:           func(event.Action) []string { return nil },
		Decode:          tool.DecodeInto[event.GlobAction],
	}
}

// Config configures the executor.
type Config struct {
	// Workspace is the absolute directory that is searched by default.
	Workspace string
	// Timeout ends a search; what was found until then is returned. Defaults
	// to DefaultTimeout.
	Timeout time.Duration
}

// New returns the tool's executor.
func New(cfg Config) tool.Executor {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	return executor{cfg}
}

type executor struct{ cfg Config }

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Execute implements [tool.Executor].
func (x executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.GlobAction)
	if !ok {
		return nil, fmt.Errorf("glob cannot run a %T", c.Action)
	}
	obs := &event.GlobObservation{Pattern: a.Pattern, SearchPath: x.cfg.Workspace}
	if a.Path != nil && *a.Path != "" {
		obs.SearchPath = *a.Path
	}
	if err := x.run(ctx, a, obs); err != nil {
		obs.IsError = true
		obs.Content = event.Texts(err.Error())
	}
	return obs, nil
}

func (x executor) run(ctx context.Context, a *event.GlobAction, obs *event.GlobObservation) error {
	pattern, path := a.Pattern, obs.SearchPath
	if filepath.IsAbs(pattern) {
		path, pattern = search.SplitAbsolute(pattern)
	}
	p, err := search.ParsePattern(pattern)
	if err != nil {
		return err
	}
	root, _, err := search.Root(x.cfg.Workspace, path, false)
	if err != nil {
		return err
	}
	obs.SearchPath = root
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Timeout)
	defer cancel()
	found := search.NewNewest(MaxResults)
	err = search.Walk(ctx, root, func(rel string) error {
		if p.Match(rel) {
			found.Add(filepath.Join(root, rel))
		}
		return nil
	})
	obs.Files = found.Paths()
	obs.Truncated = err != nil || found.Total() > MaxResults
	obs.Content = event.Texts(report(obs, found.Total(), search.Why(ctx, err, x.cfg.Timeout)))
	return nil
}

func report(obs *event.GlobObservation, total int, why string) string {
	var b strings.Builder
	if total == 0 {
		fmt.Fprintf(&b, "No file in %s matches %s.", obs.SearchPath, obs.Pattern)
	} else {
		fmt.Fprintf(&b, "%d files in %s match %s, newest first:\n%s", total, obs.SearchPath, obs.Pattern, strings.Join(obs.Files, "\n"))
	}
	if total > len(obs.Files) {
		fmt.Fprintf(&b, "\n[Only the newest %d are shown; use a narrower pattern or path.]", len(obs.Files))
	}
	if why != "" {
		b.WriteString("\n[" + why + "]")
	}
	return b.String()
}
