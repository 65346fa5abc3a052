// Package grep is the tool that finds files by their text.
//
// # Usage
//
//	def := grep.Definition()
//	exec := grep.New(grep.Config{Workspace: "/workspace"})
//
// # Same results with and without ripgrep
//
// The files are chosen by our own walk (package search) in both cases, and
// the pattern is parsed by Go's regexp/syntax in both cases. If ripgrep is
// installed, it gets the files by name and the parsed pattern in a form that
// means the same to both engines, so it only makes the search faster. Patterns
// that match an empty line are always left to Go. The one known difference: in
// a line with bytes that are not UTF-8, only Go's engine lets "." match them.
//
// # Concurrency and failure
//
// The executor is safe for concurrent use and takes bounded memory. A bad pattern
// or path is an observation with IsError set; a search that takes too long or is
// interrupted returns the files found so far, marked as truncated. Files that
// cannot be read are passed over. If ripgrep fails, Go's engine takes over.
package grep

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/search"
)

//go:embed grep.md
var description string

// The bounds of a search.
const (
	MaxResults     = search.MaxResults
	MaxFileSize    = 10 << 20
	DefaultTimeout = search.DefaultTimeout
)

// NoRipgrep as Config.Ripgrep turns ripgrep off.
const NoRipgrep = "-"

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return search.Definition("grep", "Grep", description, tool.DecodeInto[event.GrepAction],
		tool.Property{Name: "pattern", Type: "string", Required: true, Description: "The regular expression."},
		tool.Property{Name: "path", Type: "string", Description: "Directory or file to search in; the working directory when absent."},
		tool.Property{Name: "include", Type: "string", Description: "Glob pattern that the files must match."},
	)
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "grep", Description: "Find files by what is in them, with regular expressions.",
	Sets:       tool.Terminal | tool.Planning,
	Shown:      tool.Shown{Action: "GrepAction", Deed: tool.Deed{Verb: "Search", Class: "search"}, Subjects: []string{"pattern"}},
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
	// Ripgrep is the path of rg. Empty means the one in PATH, if any;
	// NoRipgrep means none.
	Ripgrep string
}

// New returns the tool's executor.
func New(cfg Config) tool.Executor {
	rg := func() string { return cfg.Ripgrep }
	switch cfg.Ripgrep {
	case "":
		rg = ripgrep // looked for by the first search: starts of sandboxes do not wait for it
	case NoRipgrep:
		cfg.Ripgrep = ""
	}
	scope := search.Scope{Workspace: cfg.Workspace, Timeout: cfg.Timeout}
	return tool.NewExecutor("grep", func(ctx context.Context, a *event.GrepAction) event.Observation {
		obs := &event.GrepObservation{Pattern: a.Pattern, SearchPath: scope.At(a.Path), IncludePattern: a.Include}
		if err := run(ctx, scope, rg(), obs); err != nil {
			obs.IsError = true
			obs.Content = event.Texts(err.Error())
		}
		return obs
	})
}

// ripgrep is the path of the installed program, empty if there is none.
var ripgrep = sync.OnceValue(func() string {
	rg, err := exec.LookPath("rg")
	if err != nil {
		return ""
	}
	return rg
})

func run(ctx context.Context, scope search.Scope, ripgrep string, obs *event.GrepObservation) error {
	include, suffix := func(string) bool { return true }, ""
	if i := obs.IncludePattern; i != nil && *i != "" {
		p, err := search.ParsePattern(*i)
		if err != nil {
			return err
		}
		include, suffix = p.Match, " ("+*i+")"
	}
	m, err := newMatcher(obs.Pattern, ripgrep)
	if err != nil {
		return err
	}
	root, info, err := search.Root(scope.Workspace, obs.SearchPath, true)
	if err != nil {
		return err
	}
	found := scope.Run(ctx, func(ctx context.Context, add func(string)) error {
		return m.search(ctx, root, info, include, add)
	})
	obs.SearchPath, obs.Matches, obs.Truncated = root, found.Paths, found.Truncated
	obs.Content = event.Texts(found.Report(
		fmt.Sprintf("No file in %s%s has a line that matches %s.", root, suffix, obs.Pattern),
		fmt.Sprintf("in %s%s have lines that match %s", root, suffix, obs.Pattern), "pattern, path or include"))
	return nil
}

// search calls found with each matching file.
func (m *matcher) search(ctx context.Context, root string, info fs.FileInfo, include func(string) bool, found func(string)) error {
	if !info.IsDir() {
		return m.match(ctx, []string{root}, found)
	}
	var batch []string
	size := 0
	err := search.Walk(ctx, root, func(rel string) error {
		if !include(rel) {
			return nil
		}
		path := filepath.Join(root, rel)
		batch, size = append(batch, path), size+len(path)+1
		if len(batch) < maxBatchFiles && size < maxBatchBytes {
			return nil
		}
		err := m.match(ctx, batch, found)
		batch, size = batch[:0], 0
		return err
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return m.match(ctx, batch, found)
}
