package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// defaultExcludes are large or generated; archives leave them out unless a client
// wants everything (docs/openhands/sdk-wire.md section 10).
var defaultExcludes = []string{
	".git/", "node_modules/", ".venv/", "venv/", "__pycache__/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/",
	"dist/", "build/", ".next/", "target/", "*.pyc",
}

func (s *Service) archive(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	format := q.Literal("format", workspace.GitDelta, workspace.GitDelta, workspace.TarGz)
	ref, excludes := q.String("base_ref", ""), q.All("exclude")
	if q.Bool("use_default_excludes", true) {
		excludes = append(defaultExcludes[:len(defaultExcludes):len(defaultExcludes)], excludes...)
	}
	path, err := pathOf(r, q)
	if err != nil {
		return err
	}
	files, release, err := filesOf(r)
	if err != nil {
		return err
	}
	defer release()
	switch st, err := files.Stat(r.Context(), path); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusNotFound, "Directory not found")
	case err != nil:
		return refused("archive a directory", err)
	case !st.IsDir():
		return rest.Fail(http.StatusBadRequest, "Path is not a directory")
	case strings.HasPrefix(ref, "-"):
		return rest.Fail(http.StatusBadRequest, "base_ref must not start with '-'")
	}
	f, err := scratch(files, path)
	if err != nil {
		return refused("archive a directory", err)
	}
	defer f.Close()
	made, err := files.Archive(r.Context(), path, workspace.Archive{Format: format, BaseRef: ref, Excludes: excludes}, f)
	if err != nil {
		return archiveError(err, made.Root, ref)
	}
	describe(w.Header(), made, ref)
	name, contentType := filepath.Base(made.Root)+".tar.gz", "application/gzip"
	if format == workspace.GitDelta {
		name, contentType = filepath.Base(made.Root)+".patch", "text/x-patch; charset=utf-8"
	}
	return send(w, r, f, name, contentType)
}

func archiveError(err error, root, ref string) error {
	var failed *gitview.CommandError
	switch {
	case errors.Is(err, gitview.ErrNoRepository):
		return rest.Fail(http.StatusBadRequest, "Not a git repository: Not a git repository: "+root)
	case errors.As(err, &failed) && ref != "" && failed.Unresolved:
		return rest.Fail(http.StatusBadRequest, "base_ref '"+ref+"' could not be resolved")
	case errors.Is(err, gitview.ErrMemory):
		return rest.Fail(http.StatusBadRequest, "Git needs too much memory for this repository")
	case errors.Is(err, workspace.ErrTooLarge):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("The archive would have more than %d GiB", int64(workspace.MaxArchive)>>30))
	case errors.Is(err, workspace.ErrHoles):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("The files have holes of more than %d GiB, which an archive would fill; exclude the sparse ones", int64(workspace.MaxHoles)>>30))
	case errors.As(err, &failed):
		return fmt.Errorf("make a git delta: %w: %s", err, failed.Stderr)
	}
	return refused("archive a directory", err)
}

// describe sets the headers that describe the repository.
func describe(h http.Header, made workspace.Archived, ref string) {
	if made.Base != "" {
		h.Set("X-Archive-Base-Commit", made.Base)
		h.Set("X-Archive-Base-Ref", cmp.Or(ref, "auto"))
	}
	if !made.Repository {
		return
	}
	for name, value := range map[string]string{"Repo-Remote": made.Remote, "Repo-Root": made.Root, "Branch": made.Branch, "Head-Commit": made.Head} {
		if value != "" {
			h.Set("X-Archive-"+name, escape(value, ""))
		}
	}
}

// send sends a file that was just written.
func send(w http.ResponseWriter, r *http.Request, f *os.File, name, contentType string) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("send an archive: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("send an archive: %w", err)
	}
	attach(w, name, contentType)
	serve(w, r, f, st)
	return nil
}
