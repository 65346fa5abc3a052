package executionserver

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/internal/zipfile"
)

// Limits on uploads.
const (
	maxUpload   = 1 << 30 // bytes of a request
	maxUnpacked = 4 << 30 // bytes of all files of an archive
	maxEntries  = 100_000 // of an archive, with the directories that their names need
	maxName     = 4096    // bytes of an entry's
)

// upload stores a file, or the content of a zip archive.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	destination := q.Get("destination")
	if !q.Has("destination") {
		destination = "/"
	}
	recursive := false
	if q.Has("recursive") {
		var err error
		if recursive, err = strconv.ParseBool(q.Get("recursive")); err != nil {
			return invalid("query.recursive: Input should be a valid boolean")
		}
	}
	if !filepath.IsAbs(destination) {
		return fail(http.StatusBadRequest, "Destination must be an absolute path")
	}
	root, rel, err := s.files.find(destination)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return invalid("body.file: Field required (%v)", err)
	}
	part, err := filePart(parts)
	if err != nil {
		return err
	}
	name := part.FileName()
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return fail(http.StatusBadRequest, "the file's name %.100q is not a plain name", name)
	}
	if recursive && !strings.HasSuffix(name, ".zip") {
		return fail(http.StatusBadRequest, "Recursive uploads must be zip files")
	}
	if err := root.MkdirAll(rel, 0o755); err != nil {
		return err
	}
	if strings.HasSuffix(name, ".zip") {
		err = unpack(part, root, rel)
	} else {
		err = save(part, root, filepath.Join(rel, name), 0o664, maxUpload)
	}
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, map[string]any{"filename": name, "destination": destination, "recursive": recursive})
	return nil
}

// filePart returns the field called file.
func filePart(parts *multipart.Reader) (*multipart.Part, error) {
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, invalid("body.file: Field required")
		}
		if err != nil {
			return nil, invalid("the body is no multipart form: %v", err)
		}
		if part.FormName() == "file" && part.FileName() != "" {
			return part, nil
		}
	}
}

var errLarge = errors.New("too large")

// save copies at most limit bytes to a file.
func save(from io.Reader, root *os.Root, rel string, mode fs.FileMode, limit int64) error {
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(from, limit+1))
	if n > limit { // also if the reader has noticed it
		err = errLarge
	}
	return errors.Join(err, f.Close())
}

// unpack spools an archive, whose directory is at its end, and unpacks it.
func unpack(from io.Reader, root *os.Root, rel string) (err error) {
	spool, err := os.CreateTemp("", "deft-upload-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	if err := os.Remove(spool.Name()); err != nil {
		return err
	}
	size, err := io.Copy(spool, from)
	if err != nil {
		return err
	}
	archive, err := zipfile.Open(spool, size, maxEntries)
	if errors.Is(err, zipfile.ErrTooMany) {
		return tooManyEntries()
	}
	if err != nil {
		return fail(http.StatusBadRequest, "the file is no zip archive: %v", err)
	}
	left, dirs := uint64(maxUnpacked), map[string]bool{}
	for _, entry := range archive.File { // before anything is written
		if !filepath.IsLocal(strings.TrimSuffix(entry.Name, "/")) || strings.ContainsAny(entry.Name, "\\\x00") {
			return fail(http.StatusBadRequest, "the archive's entry %.100q leads out of the destination", entry.Name)
		}
		if len(entry.Name) > maxName {
			return fail(http.StatusBadRequest, "the archive's entry %.100q has a name of %d bytes; at most %d are allowed", entry.Name, len(entry.Name), maxName)
		}
		for dir := path.Dir(strings.TrimSuffix(entry.Name, "/")); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		if len(archive.File)+len(dirs) > maxEntries {
			return tooManyEntries()
		}
		if kind := entry.Mode().Type(); kind != 0 && kind != fs.ModeDir {
			return fail(http.StatusBadRequest, "the archive's entry %.100q is neither a file nor a directory", entry.Name)
		}
		if entry.UncompressedSize64 > left {
			return fail(http.StatusRequestEntityTooLarge, "the archive has more than %d bytes unpacked", maxUnpacked)
		}
		left -= entry.UncompressedSize64
	}
	for _, entry := range archive.File {
		err := unpackEntry(entry, root, filepath.Join(rel, entry.Name))
		if errors.Is(err, errLarge) || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) {
			return fail(http.StatusBadRequest, "the archive's entry %.100q is damaged, or larger than it says", entry.Name)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", entry.Name, err)
		}
	}
	return nil
}

func tooManyEntries() error {
	return fail(http.StatusRequestEntityTooLarge, "the archive has more than %d files and directories", maxEntries)
}

func unpackEntry(entry *zip.File, root *os.Root, rel string) error {
	if entry.Mode().IsDir() {
		return root.MkdirAll(rel, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	in, err := entry.Open()
	if err != nil {
		return err
	}
	err = save(in, root, rel, entry.Mode().Perm()|0o600, int64(entry.UncompressedSize64))
	return errors.Join(err, in.Close())
}
