package event

import "strings"

// ApplyPatchAction is the input of the apply_patch tool.
type ApplyPatchAction struct {
	ActionBase
	Patch string `json:"patch"`
}

// Kind implements [Action].
func (*ApplyPatchAction) Kind() string { return "ApplyPatchAction" }

// ApplyPatchObservation is the result of the apply_patch tool.
type ApplyPatchObservation struct {
	ObservationBase
	Message string `json:"message"`
	// Fuzz says how exactly the lines of the patch were found; 0 for to the letter.
	Fuzz   int          `json:"fuzz"`
	Commit *PatchCommit `json:"commit,omitempty"`
}

// PatchCommit is the effect of a patch.
type PatchCommit struct {
	Changes Map[PatchChange] `json:"changes"` // by the paths of the patch
}

// PatchChange is the change of one file by a patch.
type PatchChange struct {
	Type       string  `json:"type"` // "add", "delete" or "update"
	OldContent *string `json:"old_content,omitempty"`
	NewContent *string `json:"new_content,omitempty"`
	MovePath   *string `json:"move_path,omitempty"` // the file's new name
}

// Kind implements [Observation].
func (*ApplyPatchObservation) Kind() string { return "ApplyPatchObservation" }

// PatchedFiles returns the paths of a patch in its order: files, and their new
// names. It is for showing; the tool reads a patch more strictly.
func PatchedFiles(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, mark); ok && strings.TrimSpace(path) != "" {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}

func init() {
	registerAction[ApplyPatchAction]()
	registerObservation[ApplyPatchObservation]()
}
