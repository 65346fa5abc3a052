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
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/gitview"
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
	at, err := locate(r, path)
	if err != nil {
		return err
	}
	defer at.close()
	switch st, err := at.root.Stat(at.name); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusNotFound, "Directory not found")
	case err != nil:
		return refused("archive a directory", err)
	case !st.IsDir():
		return rest.Fail(http.StatusBadRequest, "Path is not a directory")
	case strings.HasPrefix(ref, "-"):
		return rest.Fail(http.StatusBadRequest, "base_ref must not start with '-'")
	}
	f, err := scratch(at)
	if err != nil {
		return refused("archive a directory", err)
	}
	defer f.Close()
	repo := onlyRepository(at)
	root := repo.path()
	name, contentType := filepath.Base(root)+".tar.gz", "application/gzip"
	var base string
	if format == gitDelta {
		name, contentType = filepath.Base(root)+".patch", "text/x-patch; charset=utf-8"
		base, err = delta(r.Context(), repo, ref, excludes, f)
	} else {
		err = writeTarball(r.Context(), repo, excludes, f)
	}
	if err != nil {
		return archiveError(err, root, ref)
	}
	if err := describe(r.Context(), w, repo, base, ref); err != nil {
		return err
	}
	return send(w, r, f, name, contentType)
}

func delta(ctx context.Context, repo location, ref string, excludes []string, to io.Writer) (base string, err error) {
	v, err := repo.scope.Open(repo.path())
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
	case errors.Is(err, gitview.ErrMemory):
		return rest.Fail(http.StatusBadRequest, "Git needs too much memory for this repository")
	case errors.As(err, &failed):
		return fmt.Errorf("make a git delta: %w: %s", err, failed.Stderr)
	}
	return refused("archive a directory", err)
}

// describe sets the headers that describe the repository.
func describe(ctx context.Context, w http.ResponseWriter, repo location, base, ref string) error {
	h := w.Header()
	if base != "" {
		h.Set("X-Archive-Base-Commit", base)
		h.Set("X-Archive-Base-Ref", cmp.Or(ref, "auto"))
	}
	if !isRepository(repo) {
		return nil
	}
	v, err := repo.scope.Open(repo.path())
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
	for name, value := range map[string]string{"Remote": m.Remote, "Root": repo.path()} {
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

// scratch returns an unnamed file on the volume of a directory, or where temporary
// files are if that is not possible.
func scratch(at location) (*os.File, error) {
	if f, err := at.root.OpenFile(at.name, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	f, err := os.CreateTemp("", "archive-")
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
func onlyRepository(dir location) location {
	if isRepository(dir) {
		return dir
	}
	type candidate struct {
		location
		depth int
	}
	var found *location
	queue := []candidate{{dir, 0}}
	for seen := 0; len(queue) > 0 && seen < searchDirs; seen++ {
		at := queue[0]
		queue = queue[1:]
		for _, name := range directories(at.location) {
			child := at.in(name)
			switch {
			case !isRepository(child):
				if at.depth+1 < searchDepth {
					queue = append(queue, candidate{child, at.depth + 1})
				}
			case found != nil:
				return dir // there are several
			default:
				found = &child
			}
		}
	}
	if found == nil {
		return dir
	}
	return *found
}

func isRepository(dir location) bool {
	_, err := dir.root.Lstat(filepath.Join(dir.name, ".git"))
	return err == nil
}

// directories names the directories in a directory that may be repositories of the
// user; none if it is not readable.
func directories(at location) (names []string) {
	d, err := at.root.Open(at.name)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !vendored[e.Name()] {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}
