// Package applypatch is the apply_patch tool: it changes several files by one patch in the
// format of OpenAI's models.
//
// # Usage
//
//	def := applypatch.Definition()
//	exec := applypatch.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// The executor is safe for concurrent use; edits are made one at a time. A patch is checked as a
// whole before anything is written. If a file cannot be written then, the ones before are put
// back. A mistake in the patch is an observation with IsError set that says where it is.
package applypatch

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed applypatch.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "apply_patch",
		Kind:        "ApplyPatchTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "patch", Type: "string", Required: true, Description: "The patch, from *** Begin Patch to *** End Patch."},
		}},
		Annotations:     event.Annotations{Title: "apply_patch", Destructive: true},
		ActionKind:      "ApplyPatchAction",
		ObservationKind: "ApplyPatchObservation",
		Locks:           locks,
		Repair:          func(args *tool.Arguments) { args.Rename("input", "patch") }, // the name in other products
		Decode:          func(args json.RawMessage) (event.Action, error) { return tool.DecodeInto[event.ApplyPatchAction](args) },
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "apply_patch", Description: "Change several files by one patch, as OpenAI's models write it.",
	Sets:       tool.GPT5,
	Shown:      tool.Shown{Action: "ApplyPatchAction", Deed: tool.Deed{Verb: "Apply a patch", Class: "change"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

// locks are the files of a patch.
func locks(action event.Action) []string {
	a, ok := action.(*event.ApplyPatchAction)
	if !ok {
		return []string{"apply_patch"}
	}
	var keys []string
	for _, path := range event.PatchedFiles(a.Patch) {
		keys = append(keys, files.LockKey(path))
	}
	return keys
}

// New returns the tool's executor.
func New(f *files.Files) tool.Executor {
	return tool.NewExecutor("apply_patch", (&patcher{files: f}).answer)
}

type patcher struct{ files *files.Files }

func (x *patcher) answer(ctx context.Context, a *event.ApplyPatchAction) event.Observation {
	obs, err := x.run(ctx, a.Patch)
	if err != nil {
		if stopped := files.Interrupted(ctx); stopped != nil {
			err = stopped
		}
		obs = &event.ApplyPatchObservation{}
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
	}
	return obs
}

func (x *patcher) run(ctx context.Context, patch string) (*event.ApplyPatchObservation, error) {
	all, err := parse(patch)
	if err != nil {
		return nil, err
	}
	defer x.files.Lock()()
	steps, err := x.plan(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := x.carryOut(steps); err != nil {
		return nil, err
	}
	return x.report(steps), nil
}

// step is an operation that was checked.
type step struct {
	operation
	file          *files.File // nil for an added one
	doc           files.Document
	at, target    string // the absolute path, and the new one
	before, after *string
	fuzz          int
	changed       bool // another program had changed the file meanwhile
}

// plan checks a patch as a whole.
func (x *patcher) plan(ctx context.Context, all []operation) ([]*step, error) {
	var steps []*step
	taken := map[string]bool{}
	for _, o := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &step{operation: o}
		if err := x.check(ctx, s); err != nil {
			return nil, err
		}
		paths := slices.Compact(slices.Sorted(slices.Values([]string{s.at, s.target, s.real()})))
		for _, path := range paths {
			if path != "" && taken[path] {
				return nil, files.Refuse("%s is in the patch twice; nothing was changed. Give all hunks of a file in one update.", path)
			}
			taken[path] = true
		}
		steps = append(steps, s)
	}
	// What can be put back best comes first.
	slices.SortStableFunc(steps, func(a, b *step) int { return order(a) - order(b) })
	return steps, nil
}

func order(s *step) int { return slices.Index([]string{update, add, remove}, s.kind) }

// real is the path of the file without links; "" of an added one.
func (s *step) real() string {
	if s.file == nil {
		return ""
	}
	return s.file.Real
}

// check reads the file of an operation and finds its new text.
func (x *patcher) check(ctx context.Context, s *step) (err error) {
	if s.at, err = x.files.Resolve(s.path); err != nil {
		return err
	}
	if s.kind == add {
		s.after = &s.text
		return exists(x.files.Creatable(s.at), s.at)
	}
	if s.file, s.doc, err = x.files.ReadText(s.at); err != nil && (!errors.Is(err, files.ErrBinary) || s.kind != remove) {
		if errors.Is(err, files.ErrBinary) {
			return files.Refuse("%s is a binary file; nothing was changed", s.at)
		}
		return x.files.Explain(s.at, err)
	}
	if err == nil {
		s.before = &s.doc.Text
	}
	if err := x.files.Changeable(s.file); err != nil || s.kind == remove {
		return err
	}
	text, fuzz, err := apply(ctx, s.at, files.NewLines(s.doc.Text), s.hunks)
	if err != nil {
		return err
	}
	if _, err := s.doc.Encode(text); err != nil {
		return err
	}
	s.after, s.fuzz = &text, fuzz
	if s.to == "" {
		return nil
	}
	if s.target, err = x.files.Resolve(s.to); err != nil {
		return err
	}
	return exists(x.files.Creatable(s.target), s.target)
}

// exists words the refusal of a path at which something is.
func exists(err error, path string) error {
	if errors.Is(err, fs.ErrExist) {
		return files.Refuse("%s exists already; nothing was changed. Change it with %q, or delete it first.", path, strings.TrimSpace(updateFile))
	}
	return err
}

// carryOut writes the files. If one cannot be written, the ones before are put back.
func (x *patcher) carryOut(steps []*step) error {
	var back []func() error
	for _, s := range steps {
		undo, err := x.write(s)
		if err == nil {
			back = append(back, undo)
			continue
		}
		for _, undo := range slices.Backward(back) {
			if again := undo(); again != nil {
				return fmt.Errorf("%w\nThe files that were changed before could not be put back: %w", err, again)
			}
		}
		return files.Refuse("%s\nNothing was changed.", files.Message(err))
	}
	return nil
}

// write does one step, and returns how to take it back.
func (x *patcher) write(s *step) (back func() error, err error) {
	switch s.kind {
	case add:
		empty, err := x.files.Parents(s.at)
		if err != nil {
			return nil, err
		}
		real, err := x.files.Create(s.at, []byte(s.text))
		if err != nil {
			empty()
			return nil, exists(err, s.at)
		}
		return func() error { defer empty(); return x.remove(real) }, nil
	case remove:
		return func() error { return x.files.Restore(s.file) }, x.files.Remove(s.file)
	}
	f, name, unnamed := s.file, s.file.Real, func() error { return nil }
	if s.to != "" {
		empty, err := x.files.Parents(s.target)
		if err != nil {
			return nil, err
		}
		moved, err := x.files.Rename(f, s.target)
		if err != nil {
			empty()
			return nil, exists(err, s.target)
		}
		if f, err = x.files.Reread(moved); err != nil {
			return nil, err
		}
		old := name
		unnamed = func() error { defer empty(); return x.rename(moved, old) }
		name = moved
	}
	if *s.after == s.doc.Text {
		return unnamed, nil
	}
	if s.changed, err = x.files.Save(f, s.doc, *s.after); err != nil {
		return nil, errors.Join(err, unnamed())
	}
	return func() error { return errors.Join(x.replace(name, s.file.Raw), unnamed()) }, nil
}

func (x *patcher) remove(path string) error {
	f, err := x.files.Reread(path)
	if err != nil {
		return err
	}
	return x.files.Remove(f)
}

func (x *patcher) rename(from, to string) error {
	f, err := x.files.Reread(from)
	if err != nil {
		return err
	}
	_, err = x.files.Rename(f, to)
	return err
}

func (x *patcher) replace(path string, data []byte) error {
	f, err := x.files.Reread(path)
	if err != nil {
		return err
	}
	_, err = x.files.Replace(f, data)
	return err
}

// report describes the effect of the steps.
func (x *patcher) report(steps []*step) *event.ApplyPatchObservation {
	obs := &event.ApplyPatchObservation{Commit: &event.PatchCommit{Changes: event.Map[event.PatchChange]{}}}
	var lines []string
	room := x.files.MaxContent()
	for _, s := range steps {
		c := event.PatchChange{Type: s.kind, MovePath: optional.Of(s.to)}
		if size := len(optional.Value(s.before)) + len(optional.Value(s.after)); size <= room {
			c.OldContent, c.NewContent = x.files.Contents(s.before, s.after)
			room -= size
		}
		obs.Commit.Changes[s.path] = c
		obs.Fuzz += s.fuzz
		lines = append(lines, s.words())
	}
	obs.Message = "The patch was applied:\n" + strings.Join(lines, "\n")
	if obs.Fuzz > 0 {
		obs.Message += "\nSome lines of it differ from the files in white space or in their place; view the result."
	}
	obs.Content = event.Texts(strings.ToValidUTF8(obs.Message, "\uFFFD"))
	return obs
}

// words say what was done to a file.
func (s *step) words() string {
	text := map[string]string{add: "added ", update: "changed ", remove: "deleted "}[s.kind] + s.path
	if s.to != "" {
		text += ", now " + s.to
	}
	if s.file != nil && s.kind == update && s.file.Links() > 1 && *s.after != s.doc.Text {
		text += fmt.Sprintf(" (it had %d other hard links; they keep the old content)", s.file.Links()-1)
	}
	if s.changed {
		text += " (another program had changed it since you last saw it)"
	}
	return text
}
