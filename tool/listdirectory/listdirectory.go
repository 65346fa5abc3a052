// Package listdirectory is the list_directory tool of Gemini's models.
//
// # Usage
//
//	def := listdirectory.Definition()
//	exec := listdirectory.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// The executor is safe for concurrent use and takes bounded memory. A directory that cannot be
// read is an observation with IsError set. Links are listed and not followed.
package listdirectory

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed listdirectory.md
var description string

// Bounds of a list.
const (
	MaxEntries = 500
	maxScanned = 5000 // entries of one directory looked at
)

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "list_directory",
		Kind:        "ListDirectoryTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "dir_path", Type: "string", Description: "Path of the directory, absolute or relative to the working directory; that when absent."},
			{Name: "recursive", Type: "boolean", Description: "Whether to list the directories in it, too."},
		}},
		Annotations:     event.Annotations{Title: "list_directory", ReadOnly: true, Idempotent: true},
		ActionKind:      "ListDirectoryAction",
		ObservationKind: "ListDirectoryObservation",
		Locks:           func(event.Action) []string { return nil },
		Repair:          func(args *tool.Arguments) { args.Rename("path", "dir_path") },
		Decode: func(args json.RawMessage) (event.Action, error) {
			return tool.DecodeInto[event.ListDirectoryAction](args)
		},
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "list_directory", Description: "List directories, as Gemini's models ask for it.",
	Sets:       tool.Gemini,
	OfPreset:   true,
	Shown:      tool.Shown{Action: "ListDirectoryAction", Deed: tool.Deed{Verb: "List", Class: "search"}, Subjects: []string{"dir_path"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

// New returns the tool's executor.
func New(f *files.Files) tool.Executor {
	return tool.NewExecutor("list_directory", (&lister{files: f}).answer)
}

type lister struct{ files *files.Files }

func (x *lister) answer(ctx context.Context, a *event.ListDirectoryAction) event.Observation {
	obs := &event.ListDirectoryObservation{}
	if err := x.list(ctx, a, obs); err != nil {
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
		obs.Entries, obs.TotalCount = nil, 0
	}
	return obs
}

func (x *lister) list(ctx context.Context, a *event.ListDirectoryAction, obs *event.ListDirectoryObservation) error {
	dir, err := x.files.Resolve(cmp.Or(a.DirPath, "."))
	if err != nil {
		return err
	}
	obs.DirPath = &dir
	real, err := files.RealPath(dir)
	if err != nil {
		return x.files.Explain(dir, err)
	}
	if info, err := os.Lstat(real); err == nil && !info.IsDir() {
		return files.Refuse("%s is not a directory", dir)
	}
	levels := 1
	if a.Recursive {
		levels = 2
	}
	var text strings.Builder
	if err := add(ctx, dir, real, levels, obs, &text); err != nil {
		return x.files.Explain(dir, err)
	}
	obs.TotalCount = len(obs.Entries)
	head := fmt.Sprintf("%s has %d entries", dir, obs.TotalCount)
	if obs.IsTruncated {
		head = fmt.Sprintf("%s has more than %d entries; list a directory further down to see others", dir, obs.TotalCount)
	}
	if obs.TotalCount == 0 {
		obs.Content = event.Texts(dir + " is empty.")
		return nil
	}
	obs.Content = event.Texts(head + ":\n" + text.String())
	return nil
}

// add lists a directory, and the ones in it.
func add(ctx context.Context, shown, real string, levels int, obs *event.ListDirectoryObservation, text *strings.Builder) error {
	if why := files.Forbidden(real + "/"); why != "" {
		return files.Refuse("%s: %s", shown, why)
	}
	found, err := files.Names(real, maxScanned)
	if err != nil {
		return err
	}
	obs.IsTruncated = obs.IsTruncated || len(found) == maxScanned
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, one := range found {
		if len(obs.Entries) == MaxEntries || ctx.Err() != nil {
			obs.IsTruncated = true
			return nil
		}
		info, err := one.Info()
		if err != nil {
			continue // it was removed meanwhile
		}
		path := strings.ToValidUTF8(filepath.Join(shown, one.Name()), "\uFFFD")
		entry := event.DirectoryEntry{
			Name: strings.ToValidUTF8(one.Name(), "\uFFFD"), Path: path, IsDirectory: one.IsDir(),
			ModifiedTime: event.Timestamp(info.ModTime().Format("2006-01-02T15:04:05.000000")),
		}
		mark := ""
		switch {
		case entry.IsDirectory:
			mark = "/"
		case info.Mode()&os.ModeSymlink != 0:
			mark = "@"
		default:
			entry.Size = info.Size()
			mark = fmt.Sprintf("  %d bytes", entry.Size)
		}
		obs.Entries = append(obs.Entries, entry)
		fmt.Fprintf(text, "%s%s  %s\n", path, mark, info.ModTime().Format("2006-01-02 15:04"))
		if entry.IsDirectory && levels > 1 {
			if err := add(ctx, filepath.Join(shown, one.Name()), filepath.Join(real, one.Name()), levels-1, obs, text); err != nil {
				continue // unreadable entries are listed by their names alone
			}
		}
	}
	return nil
}
