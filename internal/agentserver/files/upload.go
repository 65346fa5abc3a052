package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
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
	at, err := locate(r, path)
	if err != nil {
		return err
	}
	defer at.close()
	t, err := openTarget(at)
	if err != nil {
		return err
	}
	size, err := t.take(part)
	if err = errors.Join(err, t.close(err == nil)); err != nil {
		return uploadError(err)
	}
	return rest.JSON(w, http.StatusOK, uploaded{true, size})
}

// uploadError distinguishes errors of the request from those of the disk.
func uploadError(err error) error {
	if errors.Is(err, errBody) {
		return rest.Fail(http.StatusBadRequest, "Invalid multipart data.")
	}
	return refused("upload a file", err)
}

// errBody marks errors of the request's body.
var errBody = errors.New("invalid multipart data")

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

// target is a file that is being uploaded, under another name until it is complete.
type target struct {
	f    *os.File
	dir  *os.Root // its directory
	name string
	temp string // the file's present name; empty if it is written in place
}

// openTarget creates the file of an upload and its directories. A link stays; its
// target is replaced.
func openTarget(at location) (t *target, err error) {
	t = &target{name: filepath.Base(at.name), temp: ".upload-" + random()}
	if err = at.root.MkdirAll(filepath.Dir(at.name), 0o777); err == nil {
		t.dir, err = at.root.OpenRoot(filepath.Dir(at.name))
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return nil, rest.Fail(http.StatusBadRequest, "A parent of the path is not a directory")
	}
	if err != nil {
		return nil, refused("upload a file", err)
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.dir.Close())
	}
	return t, nil
}

// open creates the file in its directory.
func (t *target) open() error {
	old, err := t.dir.Stat(t.name)
	switch {
	case err == nil && old.IsDir():
		return rest.Fail(http.StatusBadRequest, "Path is a directory")
	case err == nil && !old.Mode().IsRegular():
		return rest.Fail(http.StatusBadRequest, "Path is not a file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return refused("upload a file", err)
	}
	t.f, err = t.dir.OpenFile(t.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrPermission) && old != nil { // the directory is not writable
		t.temp = ""
		t.f, err = t.dir.OpenFile(t.name, os.O_WRONLY|os.O_TRUNC, 0)
	}
	if err != nil {
		return refused("upload a file", err)
	}
	if old != nil && t.temp != "" {
		if err := t.f.Chmod(old.Mode().Perm()); err != nil {
			return errors.Join(refused("upload a file", err), t.finish(false))
		}
		if st, ok := old.Sys().(*syscall.Stat_t); ok {
			// Only root can; others own the new file.
			_ = t.f.Chown(int(st.Uid), int(st.Gid))
		}
	}
	return nil
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// take copies the part into the file and returns its size.
func (t *target) take(part io.Reader) (int64, error) {
	from := &source{r: part}
	size, err := io.CopyBuffer(struct{ io.Writer }{t.f}, from, make([]byte, 256<<10))
	if from.err != nil {
		return size, fmt.Errorf("%w: %w", errBody, from.err)
	}
	return size, err
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

// close renames a complete file to its name and removes an incomplete one.
func (t *target) close(whole bool) error { return errors.Join(t.finish(whole), t.dir.Close()) }

func (t *target) finish(whole bool) error {
	err := t.f.Close()
	if t.temp == "" {
		return err
	}
	if whole && err == nil {
		if err = t.dir.Rename(t.temp, t.name); err == nil {
			return nil
		}
	}
	return errors.Join(err, t.dir.Remove(t.temp))
}
