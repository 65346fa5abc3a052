// Package glob is the tool that finds files by name.
//
// # Usage
//
//	def := glob.Definition()
//	exec := glob.New(glob.Config{Workspace: "/workspace"})
//
// Package search says which files are searched. The walk does not use installed
// programs, so the results are the same on every machine.
//
// # Concurrency and failure
//
// The executor is safe for concurrent use and takes bounded memory. A bad pattern
// or path is an observation with IsError set; a search that takes too long or is
// interrupted returns the files found so far, marked as truncated.
package glob

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/search"
)

//go:embed glob.md
var description string

// The bounds of a search.
const (
	MaxResults     = search.MaxResults
	DefaultTimeout = search.DefaultTimeout
)

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return search.Definition("glob", "Glob", description, tool.DecodeInto[event.GlobAction],
		tool.Property{Name: "pattern", Type: "string", Required: true, Description: "The glob pattern."},
		tool.Property{Name: "path", Type: "string", Description: "Directory to search in; the working directory when absent."},
	)
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "glob", Description: "Find files by the pattern of their names, such as **/*.ts.",
	Sets:       tool.Terminal | tool.Planning,
	Shown:      tool.Shown{Action: "GlobAction", Deed: tool.Deed{Verb: "Find files", Class: "search"}, Subjects: []string{"pattern"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(Config{Workspace: p.Workspace}), nil },
}

// Config configures the executor.
type Config struct {
	// Workspace is the absolute directory that is searched by default.
	Workspace string
	// Timeout ends a search; the files found until then are returned. Defaults to
	// DefaultTimeout.
	Timeout time.Duration
}

// New returns the tool's executor.
func New(cfg Config) tool.Executor {
	scope := search.Scope(cfg)
	return tool.NewExecutor("glob", func(ctx context.Context, a *event.GlobAction) event.Observation {
		obs := &event.GlobObservation{Pattern: a.Pattern, SearchPath: scope.At(a.Path)}
		if err := run(ctx, scope, obs); err != nil {
			obs.IsError = true
			obs.Content = event.Texts(err.Error())
		}
		return obs
	})
}

func run(ctx context.Context, scope search.Scope, obs *event.GlobObservation) error {
	pattern, path := obs.Pattern, obs.SearchPath
	if filepath.IsAbs(pattern) {
		path, pattern = search.SplitAbsolute(pattern)
	}
	p, err := search.ParsePattern(pattern)
	if err != nil {
		return err
	}
	root, _, err := search.Root(scope.Workspace, path, false)
	if err != nil {
		return err
	}
	found := scope.Run(ctx, func(ctx context.Context, add func(string)) error {
		return search.Walk(ctx, root, func(rel string) error {
			if p.Match(rel) {
				add(filepath.Join(root, rel))
			}
			return nil
		})
	})
	obs.SearchPath, obs.Files, obs.Truncated = root, found.Paths, found.Truncated
	obs.Content = event.Texts(found.Report(
		fmt.Sprintf("No file in %s matches %s.", root, obs.Pattern),
		fmt.Sprintf("in %s match %s", root, obs.Pattern), "pattern or path"))
	return nil
}
