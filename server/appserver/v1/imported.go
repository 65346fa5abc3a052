package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
)

const (
	// Bounds of a trajectory as it is sent, in bytes. One that is replayed is held in memory.
	maxImported = 64 << 20
	maxReplayed = 16 << 20

	maxImportedTitle = 200 // characters
)

// take keeps a recorded conversation, or does it anew. The recording is a trajectory, or the
// zip file of a download.
type take func(ctx context.Context, owner identity.Tenant, title string, r *io.SectionReader) (*conversations.Info, error)

func (s *Service) recorded(r *http.Request, take take) (any, error) {
	title := r.URL.Query().Get("title")
	if utf8.RuneCountInString(title) > maxImportedTitle {
		return nil, schema.Invalid("String should have at most 200 characters", title, "query", "title")
	}
	spool, size, err := spooled(r.Body)
	if err != nil {
		return nil, err
	}
	defer spool.Close()
	info, err := take(r.Context(), owner(r), title, io.NewSectionReader(spool, 0, size))
	if err != nil {
		return nil, err
	}
	return s.show(r, info), nil
}

// spooled keeps a body in a file that has no name and is gone when it is closed: the
// directory of a zip file is at its end, and many bodies do not fit into memory.
func spooled(body io.Reader) (_ *os.File, size int64, err error) {
	f, err := os.CreateTemp("", "deft-import-*")
	if err != nil {
		return nil, 0, fault.Wrap(err, fault.Full, "make a file for the trajectory")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, 0, fault.Wrap(err, fault.Denied, "make a file for the trajectory")
	}
	size, err = io.Copy(f, body)
	var long *http.MaxBytesError
	var disk *os.PathError
	switch {
	case errors.As(err, &long):
		return nil, 0, rest.Fail(http.StatusRequestEntityTooLarge, "Request body is too large")
	case errors.As(err, &disk):
		return nil, 0, fault.Wrap(err, fault.Full, "keep the trajectory")
	case err != nil:
		return nil, 0, rest.Fail(http.StatusBadRequest, "There was an error parsing the body")
	}
	return f, size, nil
}
