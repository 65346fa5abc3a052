package files

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// entry is a file or directory in a directory of the workspace.
type entry struct {
	Name      string `json:"name"`
	Directory bool   `json:"directory"`
	Size      int64  `json:"size"` // bytes; 0 for a directory
}

// maxFollowed is how many links of a directory are followed to see their targets.
const maxFollowed = 500

// list describes the entries of a directory of a conversation: Deft's own. A link
// to a directory of the workspace counts as one.
func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r, rest.QueryOf(r))
	if err != nil {
		return err
	}
	files, release, err := filesOf(r)
	if err != nil {
		return err
	}
	defer release()
	found, err := files.List(r.Context(), path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return rest.Fail(http.StatusNotFound, "Directory not found")
	case errors.Is(err, workspace.ErrNotDirectory), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusBadRequest, "Path is not a directory")
	case errors.Is(err, workspace.ErrTooLarge):
		return rest.Fail(http.StatusBadRequest, "The directory has too many files to list them")
	case err != nil:
		return refused("list a directory", err)
	}
	out := make([]entry, 0, len(found))
	followed := 0
	for _, fi := range found {
		e := entry{Name: strings.ToValidUTF8(fi.Name(), "\uFFFD"), Directory: fi.IsDir(), Size: fi.Size()}
		if fi.Mode().Type() == fs.ModeSymlink && followed < maxFollowed {
			followed++
			if to, err := files.Stat(r.Context(), join(path, fi.Name())); err == nil { // others lead nowhere, or out
				e.Directory, e.Size = to.IsDir(), to.Size()
			}
		}
		if e.Directory {
			e.Size = 0
		}
		out = append(out, e)
	}
	return rest.JSON(w, http.StatusOK, out)
}
