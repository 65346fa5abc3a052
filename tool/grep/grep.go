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
// the pattern is parsed by Go's regexp/syntax in both cases; ripgrep, when it
// is installed, gets the parsed pattern in a form in which both engines mean
// the same, and the files by name. So ripgrep only makes it faster. Patterns
// that match an empty line are always left to Go. The one
// known difference: where a line holds bytes that are not UTF-8, only Go's
// engine lets "." match them.
//
// # Concurrency and failure
//
// The executor is safe for concurrent use and takes bounded memory. A bad
// pattern or path is an observation with IsError set; a search that takes too
// long or is interrupted returns what it found, marked as truncated. Files
// that cannot be read are passed over. Where ripgrep fails, Go's engine does
// the work.
package grep

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/search"
)

//go:embed grep.md
var description string

// The bounds of a search.
const (
	MaxResults     = 100
	MaxFileSize    = 10 << 20
	DefaultTimeout = 30 * time.Second
)

// NoRipgrep as Config.Ripgrep says not to use ripgrep.
const NoRipgrep = "-"

// Definition describes the tool (tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "grep",
		Kind:        "GrepTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "pattern", Type: "string", Required: true, Description: "The regular expression."},
			{Name: "path", Type: "string", Description: "Directory or file to search in; the working directory when absent."},
			{Name: "include", Type: "string", Description: "Glob pattern that the files must match."},
		}},
		Annotations:     event.Annotations{ReadOnly: true, Idempotent: true},
		ActionKind:      "GrepAction",
		ObservationKind: "GrepObservation",
		Locks:           func(event.Action) []string { return nil },
		Decode:          tool.DecodeInto[event.GrepAction],
	}
}

// Config configures the executor.
type Config struct {
	// Workspace is the absolute directory that is searched by default.
	Workspace string
	// Timeout ends a search; what was found until then is returned. Defaults
	// to DefaultTimeout.
	Timeout time.Duration
	// Ripgrep is the path of rg. Empty means the one in PATH, if any;
	// NoRipgrep means none.
	Ripgrep string
}

// New returns the tool's executor.
func New(cfg Config) tool.Executor {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	switch cfg.Ripgrep {
	case "":
		if rg, err := exec.LookPath("rg"); err == nil {
			cfg.Ripgrep = rg
		}
	case NoRipgrep:
		cfg.Ripgrep = ""
	}
	return executor{cfg}
}

type executor struct{ cfg Config }

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Execute implements [tool.Executor].
func (x executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.GrepAction)
	if !ok {
		return nil, fmt.Errorf("grep cannot run a %T", c.Action)
	}
	obs := &event.GrepObservation{Pattern: a.Pattern, SearchPath: x.cfg.Workspace, IncludePattern: a.Include}
	if a.Path != nil && *a.Path != "" {
		obs.SearchPath = *a.Path
	}
	if err := x.run(ctx, a, obs); err != nil {
		obs.IsError = true
		obs.Content = event.Texts(err.Error())
	}
	return obs, nil
}

func (x executor) run(ctx context.Context, a *event.GrepAction, obs *event.GrepObservation) error {
	include := func(string) bool { return true }
	if a.Include != nil && *a.Include != "" {
		p, err := search.ParsePattern(*a.Include)
		if err != nil {
			return err
		}
		include = p.Match
	}
	m, err := newMatcher(a.Pattern, x.cfg.Ripgrep)
	if err != nil {
		return err
	}
	root, info, err := search.Root(x.cfg.Workspace, obs.SearchPath, true)
	if err != nil {
		return err
	}
	obs.SearchPath = root
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Timeout)
	defer cancel()
	found := search.NewNewest(MaxResults)
	err = m.search(ctx, root, info, include, found.Add)
	obs.Matches = found.Paths()
	obs.Truncated = err != nil || found.Total() > MaxResults
	obs.Content = event.Texts(report(obs, found.Total(), search.Why(ctx, err, x.cfg.Timeout)))
	return nil
}

// search gives the matching files to found.
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

func report(obs *event.GrepObservation, total int, why string) string {
	var b strings.Builder
	where := obs.SearchPath
	if obs.IncludePattern != nil && *obs.IncludePattern != "" {
		where += " (" + *obs.IncludePattern + ")"
	}
	if total == 0 {
		fmt.Fprintf(&b, "No file in %s has a line that matches %s.", where, obs.Pattern)
	} else {
		fmt.Fprintf(&b, "%d files in %s have lines that match %s, newest first:\n%s", total, where, obs.Pattern, strings.Join(obs.Matches, "\n"))
	}
	if total > len(obs.Matches) {
		fmt.Fprintf(&b, "\n[Only the newest %d are shown; use a narrower pattern, path or include.]", len(obs.Matches))
	}
	if why != "" {
		b.WriteString("\n[" + why + "]")
	}
	return b.String()
}
