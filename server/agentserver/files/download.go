package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

func (s *Service) download(w http.ResponseWriter, r *http.Request) error {
	name, files, release, err := targetOf(r)
	if err != nil {
		return err
	}
	defer release()
	f, err := files.Open(r.Context(), name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusNotFound, "File not found")
	case errors.Is(err, workspace.ErrNotFile):
		return rest.Fail(http.StatusBadRequest, "Path is not a file")
	case err != nil:
		return refused("open a file", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return refused("open a file", err)
	}
	attach(w, path.Base(name), "application/octet-stream")
	serve(w, r, f, st)
	return nil
}

// attach sets the name under which a client saves the file.
func attach(w http.ResponseWriter, name, contentType string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	disposition := `attachment; filename="` + name + `"`
	if quoted := escape(name, "/"); quoted != name {
		disposition = "attachment; filename*=utf-8''" + quoted
	}
	h.Set("Content-Disposition", disposition)
}

// escape percent-encodes everything but letters, digits, "_.-~" and the characters
// in safe (RFC 3986 section 2.3).
func escape(text, safe string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_.-~"+safe, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// serve sends a file, ranges of it, or 304 when the client has it.
func serve(w http.ResponseWriter, r *http.Request, f io.ReadSeeker, st fs.FileInfo) {
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, st.ModTime().UnixNano(), st.Size()))
	w.Header().Set("Cache-Control", "no-cache") // or browsers take a file that has just changed from their cache
	http.ServeContent(w, r, "", st.ModTime(), f)
}
