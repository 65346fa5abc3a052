package files

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

type uploaded struct {
	Success  bool  `json:"success"`
	FileSize int64 `json:"file_size"`
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r, rest.QueryOf(r))
	if err != nil {
		return err
	}
	part, err := filePart(r)
	if err != nil {
		return err
	}
	files, release, err := filesOf(r)
	if err != nil {
		return err
	}
	defer release()
	from := &source{r: part}
	size, err := files.Write(r.Context(), path, from)
	if err != nil {
		return uploadError(err, from.err)
	}
	return rest.JSON(w, http.StatusOK, uploaded{true, size})
}

// uploadError distinguishes errors of the request's body from errors of the path
// and the disk.
func uploadError(err, body error) error {
	switch {
	case body != nil:
		return rest.Fail(http.StatusBadRequest, "Invalid multipart data.")
	case errors.Is(err, workspace.ErrParent):
		return rest.Fail(http.StatusBadRequest, "A parent of the path is not a directory")
	case errors.Is(err, workspace.ErrIsDirectory):
		return rest.Fail(http.StatusBadRequest, "Path is a directory")
	case errors.Is(err, workspace.ErrNotFile):
		return rest.Fail(http.StatusBadRequest, "Path is not a file")
	}
	return refused("upload a file", err)
}

// filePart finds the part named file without reading its content.
func filePart(r *http.Request) (*multipart.Part, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, schema.Missing("body", "file")
	}
	if params["boundary"] == "" {
		return nil, rest.Fail(http.StatusBadRequest, "Missing boundary in multipart.")
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped one means that the body is incomplete
			return nil, schema.Missing("body", "file")
		}
		if err != nil {
			return nil, rest.Fail(http.StatusBadRequest, "Invalid multipart data.")
		}
		if part.FormName() != "file" {
			continue
		}
		_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if _, ok := params["filename"]; err != nil || !ok {
			return nil, schema.Violations{{
				Type: "value_error", Loc: []any{"body", "file"}, Msg: "Value error, Expected UploadFile, received: <class 'str'>",
				Ctx: map[string]any{"error": "Expected UploadFile, received: <class 'str'>"},
			}}
		}
		return part, nil
	}
}

// source remembers errors of reading, which are not errors of the disk.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
