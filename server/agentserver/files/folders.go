package files

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

func (s *Service) makeDirectory(w http.ResponseWriter, r *http.Request) error {
	path, files, release, err := targetOf(r)
	if err != nil {
		return err
	}
	defer release()
	switch err := files.MakeDirectory(r.Context(), path); {
	case errors.Is(err, workspace.ErrNotDirectory):
		return rest.Fail(http.StatusBadRequest, "Path exists and is not a directory")
	case err != nil:
		return refused("create a directory", err)
	}
	return rest.OK(w)
}

// folder is a directory in lists of the user interface.
type folder struct {
	Label string `json:"label"`
	Path  string `json:"path"`
}

type home struct {
	Home      string   `json:"home"`
	Favorites []folder `json:"favorites"`
	Locations []folder `json:"locations"`
}

// maxFavorites is how many directories of the home are shown.
const maxFavorites = 50

func (s *Service) home(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	hidden := q.Bool("include_hidden", false)
	if err := q.Err(); err != nil {
		return err
	}
	out := home{Home: s.o.Home, Favorites: []folder{}, Locations: []folder{{"/", "/"}}}
	if out.Home == "" {
		var err error
		if out.Home, err = os.UserHomeDir(); err != nil {
			out.Home = "/"
		}
	}
	names, err := subdirs(out.Home, hidden)
	if err != nil {
		names = nil // a home that cannot be read has no favourites
	}
	for _, name := range names[:min(len(names), maxFavorites)] {
		out.Favorites = append(out.Favorites, folder{name, join(out.Home, name)})
	}
	return rest.JSON(w, http.StatusOK, out)
}

// subdirs names the directories in a directory, sorted without regard to case.
// Links are left out.
func subdirs(dir string, hidden bool) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	type sortable struct{ lower, name string }
	var found []sortable
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && (hidden || !strings.HasPrefix(name, ".")) {
			name = strings.ToValidUTF8(name, "\uFFFD")
			found = append(found, sortable{strings.ToLower(name), name})
		}
	}
	slices.SortFunc(found, func(a, b sortable) int {
		return cmp.Or(cmp.Compare(a.lower, b.lower), cmp.Compare(a.name, b.name))
	})
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.name
	}
	return names, nil
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

type subdir struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

type subdirPage struct {
	Items      []subdir `json:"items"`
	NextPageID *string  `json:"next_page_id"`
}

func (s *Service) subdirs(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	limit, hidden, pageID := q.Limit("limit", 100, 100), q.Bool("include_hidden", false), q.String("page_id", "")
	path, err := pathOf(r, q)
	if err != nil {
		return err
	}
	names, err := subdirs(path, hidden)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		if _, statErr := os.Stat(path); statErr != nil { // a part of the path is a file
			return rest.Fail(http.StatusNotFound, "Directory not found")
		}
		return rest.Fail(http.StatusBadRequest, "Path is not a directory")
	case errors.Is(err, fs.ErrNotExist):
		return rest.Fail(http.StatusNotFound, "Directory not found")
	case err != nil:
		return refused("list a directory", err)
	}
	names = names[pageStart(names, pageID):]
	page := subdirPage{Items: []subdir{}}
	for _, name := range names[:min(len(names), limit)] {
		page.Items = append(page.Items, subdir{name, join(tidy(path), name)})
	}
	if len(names) > limit {
		page.NextPageID = &names[limit]
	}
	return rest.JSON(w, http.StatusOK, page)
}

// pageStart finds the first name of a page; older servers returned it in lower
// case.
func pageStart(names []string, id string) int {
	if i := slices.Index(names, id); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(names, func(name string) bool { return strings.ToLower(name) == id }))
}

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
	path, files, release, err := targetOf(r)
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
