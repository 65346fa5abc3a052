package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/gitview"
	"github.com/deft-dev/deft/internal/realpath"
)

// The formats of an archive.
const (
	gitDelta = "git-delta"
	tarGz    = "tar.gz"
)

func (s *Service) archive(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	format := q.Literal("format", gitDelta, gitDelta, tarGz)
	ref, excludes := q.String("base_ref", ""), q.All("exclude")
	if q.Bool("use_default_excludes", true) {
		excludes = append(defaultExcludes[:len(defaultExcludes):len(defaultExcludes)], excludes...)
	}
	path, err := pathOf(r, q)
	if err != nil {
		return err
	}
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusNotFound, "Directory not found")
	case err != nil:
		return refused("archive a directory", err)
	case !st.IsDir():
		return rest.Fail(http.StatusBadRequest, "Path is not a directory")
	case strings.HasPrefix(ref, "-"):
		return rest.Fail(http.StatusBadRequest, "base_ref must not start with '-'")
	}
	path = realpath.Resolve(path)
	root := onlyRepository(path)
	f, err := scratch(path)
	if err != nil {
		return refused("archive a directory", err)
	}
	defer f.Close()
	name, contentType := filepath.Base(root)+".tar.gz", "application/gzip"
	var base string
	if format == gitDelta {
		name, contentType = filepath.Base(root)+".patch", "text/x-patch; charset=utf-8"
		base, err = delta(r.Context(), root, ref, excludes, f)
	} else {
		err = writeTarball(r.Context(), root, excludes, f)
	}
	if err != nil {
		return archiveError(err, root, ref)
	}
	if err := describe(r.Context(), w, root, base, ref); err != nil {
		return err
	}
	return send(w, r, f, name, contentType)
}

func delta(ctx context.Context, root, ref string, excludes []string, to io.Writer) (base string, err error) {
	v, err := gitview.Open(root)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return v.Delta(ctx, ref, excludes, to)
}

func archiveError(err error, root, ref string) error {
	var failed *gitview.CommandError
	switch {
	case errors.Is(err, gitview.ErrNoRepository):
		return rest.Fail(http.StatusBadRequest, "Not a git repository: Not a git repository: "+root)
	case errors.As(err, &failed) && ref != "" && failed.Unresolved:
		return rest.Fail(http.StatusBadRequest, "base_ref '"+ref+"' could not be resolved")
	case errors.As(err, &failed):
		return fmt.Errorf("make a git delta: %w: %s", err, failed.Stderr)
	}
	return refused("archive a directory", err)
}

// describe sets the headers that describe the repository.
func describe(ctx context.Context, w http.ResponseWriter, root, base, ref string) error {
	h := w.Header()
	if base != "" {
		h.Set("X-Archive-Base-Commit", base)
		h.Set("X-Archive-Base-Ref", cmp.Or(ref, "auto"))
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return nil //nolint:nilerr // there is nothing to describe
	}
	v, err := gitview.Open(root)
	if errors.Is(err, gitview.ErrNoRepository) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := v.Metadata(ctx)
	if err := errors.Join(err, v.Close()); err != nil {
		return err
	}
	for name, value := range map[string]string{"Remote": m.Remote, "Root": root} {
		if value != "" {
			h.Set("X-Archive-Repo-"+name, escape(value, ""))
		}
	}
	for name, value := range map[string]string{"Branch": m.Branch, "Head-Commit": m.Head} {
		if value != "" {
			h.Set("X-Archive-"+name, escape(value, ""))
		}
	}
	return nil
}

// scratch returns an unnamed file on the volume of a directory, but outside of the
// directory if possible.
func scratch(dir string) (*os.File, error) {
	parent := filepath.Dir(dir)
	if parent == dir {
		parent = ""
	}
	f, err := os.CreateTemp(parent, ".archive-")
	if err != nil {
		f, err = os.CreateTemp("", "archive-")
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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

// Bounds of the search for a repository below a directory.
const (
	searchDepth = 3
	searchDirs  = 20_000
)

// vendored directories contain repositories of others.
var vendored = map[string]bool{"node_modules": true, "venv": true, "site-packages": true, "vendor": true}

// onlyRepository returns the single repository below a directory that is none
// itself; the directory if there is none or more than one.
func onlyRepository(dir string) string {
	isRepo := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, ".git"))
		return err == nil
	}
	if isRepo(dir) {
		return dir
	}
	type candidate struct {
		dir   string
		depth int
	}
	found := ""
	queue := []candidate{{dir, 0}}
	for seen := 0; len(queue) > 0 && seen < searchDirs; seen++ {
		at := queue[0]
		queue = queue[1:]
		entries, err := os.ReadDir(at.dir)
		if err != nil {
			continue // it is not readable
		}
		for _, e := range entries {
			child := filepath.Join(at.dir, e.Name())
			switch {
			case !e.IsDir(), strings.HasPrefix(e.Name(), "."), vendored[e.Name()]:
			case !isRepo(child):
				if at.depth+1 < searchDepth {
					queue = append(queue, candidate{child, at.depth + 1})
				}
			case found != "":
				return dir // there are several
			default:
				found = child
			}
		}
	}
	return cmp.Or(found, dir)
}
