package event

import (
	"maps"
	"slices"
)

// FileChange is the change of one file by a tool, or the reading of one.
type FileChange struct {
	Path     string
	Old, New *string // nil where there is no file, or where its text is too large for an event
}

// FileChanges returns the files that the tool of an observation has read or changed, in the order of
// their paths.
func FileChanges(o Observation) []FileChange {
	one := func(path, before, after *string) []FileChange {
		if path == nil || *path == "" {
			return nil
		}
		return []FileChange{{*path, before, after}}
	}
	switch o := o.(type) {
	case *FileEditorObservation:
		return one(o.Path, o.OldContent, o.NewContent)
	case *PlanningFileEditorObservation:
		return one(o.Path, o.OldContent, o.NewContent)
	case *ReadFileObservation:
		return one(&o.FilePath, nil, nil)
	case *WriteFileObservation:
		return one(o.FilePath, o.OldContent, o.NewContent)
	case *EditObservation:
		return one(o.FilePath, o.OldContent, o.NewContent)
	case *ApplyPatchObservation:
		if o.Commit == nil {
			return nil
		}
		var all []FileChange
		for _, path := range slices.Sorted(maps.Keys(o.Commit.Changes)) {
			c := o.Commit.Changes[path]
			if c.MovePath != nil {
				path = *c.MovePath
			}
			all = append(all, FileChange{path, c.OldContent, c.NewContent})
		}
		return all
	}
	return nil
}
