package v1

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// Bounds of a list of files. OpenHands' page shows no more of them.
const (
	maxTreeFiles       = 2000
	maxTreeDirectories = 2000
)

// untold are directories whose files are not listed: those that programs made.
var untold = []string{
	".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target",
	".next", ".cache", ".pytest_cache", ".mypy_cache", ".turbo", ".parcel-cache",
}

// tree answers with the paths of the files in a directory and below it, relative to it
// and sorted: the first maxTreeFiles, of upper directories first. OpenHands' page asks
// for it, its document does not have it.
func (s *Service) tree(w http.ResponseWriter, r *http.Request) error {
	files, dir, err := s.files(r, rest.QueryOf(r).String("path", ""))
	if err != nil {
		return err
	}
	defer files.Close()
	found, err := treeOf(r.Context(), files, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.NotFound, "there is no directory "+dir)
	}
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, found)
}

func treeOf(ctx context.Context, files workspace.Files, dir string) ([]string, error) {
	found, waiting := []string{}, []string{""}
	for n := 0; n < len(waiting) && len(found) < maxTreeFiles; n++ {
		entries, err := files.List(ctx, path.Join(dir, waiting[n]))
		if err != nil && n > 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) || fault.Is(err, fault.Invalid)) {
			continue // an agent at work removed it, or took it from its reader
		}
		if err != nil {
			return nil, err
		}
		for _, fi := range entries {
			name := path.Join(waiting[n], fi.Name())
			switch {
			case fi.Mode().IsRegular() && len(found) < maxTreeFiles:
				found = append(found, name)
			case fi.IsDir() && !slices.Contains(untold, fi.Name()) && len(waiting) < maxTreeDirectories:
				waiting = append(waiting, name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
