package v0

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// letters are V0's statuses of changed files.
var letters = map[gitview.Status]string{gitview.Added: "A", gitview.Updated: "M", gitview.Deleted: "D"}

// errNoRepository is the reference's answer outside a repository.
var errNoRepository = rest.Fail(http.StatusNotFound, "Not a git repository")

type change struct {
	Status string `json:"status"`
	Path   string `json:"path"`
}

func (s *Service) gitChanges(w http.ResponseWriter, r *http.Request) error {
	files, dir, err := s.files(r, "")
	if err != nil {
		return err
	}
	defer files.Close()
	found, err := files.Changes(r.Context(), dir, "")
	if errors.Is(err, gitview.ErrNoRepository) {
		return errNoRepository
	}
	if err != nil {
		return err
	}
	out := make([]change, 0, len(found))
	for _, c := range found {
		out = append(out, change{letters[c.Status], c.Path})
	}
	return rest.JSON(w, http.StatusOK, out)
}

func (s *Service) gitDiff(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	named := q.Required("path")
	if err := q.Err(); err != nil {
		return err
	}
	files, name, err := s.files(r, named)
	if err != nil {
		return err
	}
	defer files.Close()
	diff, err := files.FileDiff(r.Context(), name, "")
	if errors.Is(err, gitview.ErrNoRepository) {
		return errNoRepository
	}
	if refused, ok := errors.AsType[*gitview.PathError](err); ok {
		return schema.Invalid(strings.ReplaceAll(refused.Msg, name, named), named, "query", "path")
	}
	if err != nil {
		return fileError(err, named)
	}
	return rest.JSON(w, http.StatusOK, diff)
}
