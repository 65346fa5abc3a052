package executionserver

import (
	"archive/zip"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/workspace"
)

// maxPacked is how many bytes the files of an archive may have: a sparse file takes no
// space but is packed whole.
const maxPacked = 64 << 30

// packedSize is how much download packs, and how much of it are holes.
func packedSize(root *os.Root, rel string) (size, holes int64) {
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // download leaves it out, too
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
			holes += workspace.Holes(root, name)
		}
		if size > maxPacked || holes > workspace.MaxHoles {
			return fs.SkipAll
		}
		return nil
	})
	return size, holes
}

// download sends a directory, or one file, as a zip archive that is made as it is
// sent. Links that lead out of the server's directories are left out.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if !q.Has("path") {
		return invalid("query.path: Field required")
	}
	name := q.Get("path")
	if !filepath.IsAbs(name) {
		return fail(http.StatusBadRequest, "Path must be an absolute path")
	}
	root, rel, err := s.files.find(name)
	if err != nil {
		return err
	}
	info, err := root.Stat(rel)
	if err != nil {
		return err
	}
	switch size, holes := packedSize(root, rel); {
	case size > maxPacked:
		return fail(http.StatusRequestEntityTooLarge, "the files have more than %d bytes", maxPacked)
	case holes > workspace.MaxHoles:
		return fail(http.StatusRequestEntityTooLarge, "the files have holes of more than %d bytes", workspace.MaxHoles)
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(name) + ".zip"}))
	out := zip.NewWriter(w)
	left := int64(maxPacked) // files change meanwhile
	if info.IsDir() {
		err = fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && d.IsDir() && err != nil {
					s.o.Log.Warn("download leaves a directory out", "path", p, "err", err)
					return fs.SkipDir
				}
				return err
			}
			entry := p
			if rel != "." {
				entry = strings.TrimPrefix(p, filepath.ToSlash(rel)+"/")
			}
			return s.pack(out, root, p, entry, &left)
		})
	} else {
		err = s.pack(out, root, rel, filepath.Base(name), &left)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		s.o.Log.Warn("download was cut off", "err", err)
		panic(http.ErrAbortHandler) // the status was sent; the client must not take this for the whole
	}
	return nil
}

// pack adds a file; one that cannot be opened is left out.
func (s *Server) pack(out *zip.Writer, root *os.Root, rel, entry string, left *int64) error {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.o.Log.Warn("download leaves a file out", "err", err)
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if *left -= info.Size(); *left < 0 {
		return errLarge
	}
	header, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	header.Name, header.Method = entry, zip.Deflate
	to, err := out.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(f, info.Size())) // one that grows must end
	return err
}

// list answers with the names in a directory, directories first and with a slash. An
// unreadable directory has none.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	raw, err := readBody(w, r)
	if err != nil {
		return err
	}
	var body struct {
		Path *string `json:"path"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return invalid("the body is not an object with a path: %v", err)
	}
	dir := s.o.WorkingDir
	if body.Path != nil {
		dir = *body.Path
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.o.WorkingDir, dir)
	}
	root, rel, err := s.files.find(dir)
	if err != nil {
		return err
	}
	names := []string{}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(rel))
	if err != nil {
		s.answer(w, http.StatusOK, names)
		return nil //nolint:nilerr // as the reference: an unreadable directory has no names
	}
	var files []string
	for _, e := range entries {
		info, err := root.Stat(filepath.Join(rel, e.Name()))
		switch {
		case err != nil: // a link to nothing, or to a hidden file
		case info.IsDir():
			names = append(names, e.Name()+"/")
		default:
			files = append(files, e.Name())
		}
	}
	byName := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
	slices.SortStableFunc(names, byName)
	slices.SortStableFunc(files, byName)
	s.answer(w, http.StatusOK, append(names, files...))
	return nil
}

// shown are the files that the viewer shows.
var shown = []string{".pdf", ".png", ".jpg", ".jpeg", ".gif"}

// view answers with a page that shows a picture or a PDF document.
func (s *Server) view(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("path")
	page := func(status int, body string) error {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; object-src data:; frame-src data:; style-src 'unsafe-inline'")
		w.WriteHeader(status)
		_, err := io.WriteString(w, "<!DOCTYPE html><html><head><meta charset=\"UTF-8\"><title>File Viewer - "+
			html.EscapeString(path.Base(name))+"</title></head><body>"+body+"</body></html>")
		if err != nil {
			s.o.Log.Debug("the client has disconnected", "err", err)
		}
		return nil
	}
	problem := func(status int, what string) error {
		return page(status, "<h1>"+html.EscapeString(what)+"</h1><p>"+html.EscapeString(name)+"</p>")
	}
	extension := strings.ToLower(filepath.Ext(name))
	if !filepath.IsAbs(name) {
		return problem(http.StatusBadRequest, "Error: Path must be absolute")
	}
	root, rel, err := s.files.find(name)
	if err != nil {
		return err
	}
	info, err := root.Stat(rel)
	switch {
	case err != nil:
		return problem(http.StatusNotFound, "Error: File not found")
	case info.IsDir():
		return problem(http.StatusBadRequest, "Error: Path is a directory")
	case !slices.Contains(shown, extension):
		return problem(http.StatusInternalServerError, "Error viewing file: Unsupported file extension: "+extension)
	}
	raw, err := s.load(name)
	if err != nil {
		return problem(http.StatusInternalServerError, "Error viewing file: "+err.Error())
	}
	data := "data:" + media[extension] + ";base64," + base64.StdEncoding.EncodeToString(raw)
	if extension == ".pdf" {
		return page(http.StatusOK, `<embed type="application/pdf" style="width:100%;height:100vh" src="`+data+`">`)
	}
	return page(http.StatusOK, `<img style="max-width:100%" alt="`+html.EscapeString(path.Base(name))+`" src="`+data+`">`)
}
