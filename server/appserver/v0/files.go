package v0

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/workspace"
)

// maxFile bounds a file that is answered as text.
const maxFile = 4 << 20

// Bounds of a workspace that is answered as a zip file: a sandbox's archive can unpack to
// anything, and each file takes memory until the end.
const (
	maxUnzipped = workspace.MaxArchive + 4<<30 // bytes, with headers
	maxZipped   = 500_000                      // files and directories
)

// files opens the workspace of the conversation that a path names.
func (s *Service) files(r *http.Request, named string) (workspace.Files, string, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, "", err
	}
	return s.o.Conversations.Files(r.Context(), owner(r), id, named)
}

// fileError gives an error of a path its kind.
func fileError(err error, named string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rest.Fail(http.StatusNotFound, "there is no file "+strconv.Quote(named)) // a fault means the conversation here
	case fault.Is(err, fault.Invalid):
		return schema.Invalid(strconv.Quote(named)+": "+err.Error(), named, "query")
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(err, fault.Denied, strconv.Quote(named))
	}
	return err
}

// ignored are entries that lists of files leave out, as the reference.
var ignored = []string{".git/", ".DS_Store", "node_modules/", "__pycache__/", "lost+found/", ".vscode/"}

// listFiles answers with the names in a directory; names of directories end with a
// slash.
func (s *Service) listFiles(w http.ResponseWriter, r *http.Request) error {
	named := rest.QueryOf(r).String("path", "")
	files, dir, err := s.files(r, named)
	if err != nil {
		return err
	}
	defer files.Close()
	found, err := files.List(r.Context(), dir)
	if err != nil {
		return fileError(err, named)
	}
	rules, err := readIgnore(r.Context(), files)
	if err != nil {
		return err
	}
	below, _ := strings.CutPrefix(strings.TrimPrefix(dir, files.Path()), "/")
	out := []string{}
	for _, fi := range found {
		name := fi.Name()
		if rules.ignores(path.Join(below, name), fi.IsDir()) {
			continue
		}
		if fi.IsDir() {
			name += "/"
		}
		if slices.Contains(ignored, name) {
			continue
		}
		if named != "" {
			name = strings.TrimSuffix(named, "/") + "/" + name
		}
		out = append(out, name)
	}
	slices.SortStableFunc(out, func(a, b string) int {
		if aDir, bDir := strings.HasSuffix(a, "/"), strings.HasSuffix(b, "/"); aDir != bDir {
			if aDir {
				return -1
			}
			return 1
		}
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
	return rest.JSON(w, http.StatusOK, out)
}

// readAll reads a file of at most maxFile bytes.
func readAll(ctx context.Context, files workspace.Files, name string) ([]byte, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = rest.Fail(http.StatusRequestEntityTooLarge, "the file is too large to be shown")
	}
	return raw, err
}

// selectFile answers with the text of a file.
func (s *Service) selectFile(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	named := q.Required("file")
	if err := q.Err(); err != nil {
		return err
	}
	files, name, err := s.files(r, named)
	if err != nil {
		return err
	}
	defer files.Close()
	raw, err := readAll(r.Context(), files, name)
	if err != nil {
		return fileError(err, named)
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return rest.Fail(http.StatusUnsupportedMediaType, "Unable to open binary file: "+named)
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"code": string(raw)})
}

// zipDirectory answers with the workspace as a zip file.
func (s *Service) zipDirectory(w http.ResponseWriter, r *http.Request) error {
	files, dir, err := s.files(r, "")
	if err != nil {
		return err
	}
	defer files.Close()
	packed, packing := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := files.Archive(r.Context(), dir, workspace.Archive{Format: workspace.TarGz}, packing)
		_ = packing.CloseWithError(err) // never fails
	}()
	defer func() {
		_ = packed.Close() // never fails
		<-done
	}()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="workspace.zip"`)
	if err := zipOf(w, http.MaxBytesReader(nil, unzipped, maxUnzipped), maxZipped); err != nil {
		s.o.Log.Warn("an archive of a workspace broke off", "err", err)
		return rest.ErrBroken
	}
	return nil
}

// zipOf writes the entries of a tar file, at most so many files and directories, as a zip
// file. Links stay links.
func zipOf(w io.Writer, r io.Reader, most int) error {
	from, to := tar.NewReader(r), zip.NewWriter(w)
	for n := 0; ; n++ {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if n == most {
			return fault.New(fault.Limit, fmt.Sprintf("the workspace has more than %d files", most))
		}
		if err != nil {
			return err
		}
		fi, err := zip.FileInfoHeader(head.FileInfo())
		if err != nil {
			return err
		}
		fi.Name, fi.Method = strings.TrimPrefix(path.Clean("/"+head.Name), "/"), zip.Deflate
		if fi.Name == "" || path.Base(fi.Name) == workspace.ManifestName && head.ModTime.Unix() <= 0 {
			continue // the manifest is no file of the workspace
		}
		if head.Size == 0 {
			fi.Method = zip.Store
		}
		if head.Typeflag == tar.TypeDir {
			fi.Name += "/"
		}
		f, err := to.CreateHeader(fi)
		if err != nil {
			return err
		}
		switch head.Typeflag {
		case tar.TypeSymlink:
			_, err = io.WriteString(f, head.Linkname)
		case tar.TypeReg:
			_, err = io.Copy(f, from)
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", head.Name, err)
		}
	}
}

// skipped is a file that was not uploaded.
type skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// maxFiles bounds how many files one upload has.
const maxFiles = 1000

// upload writes files into the workspace as they are. One whose name is taken gets a
// number.
func (s *Service) upload(w http.ResponseWriter, r *http.Request) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return schema.Missing("body", "files")
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return rest.Fail(http.StatusBadRequest, "Invalid multipart data.")
	}
	files, _, err := s.files(r, "")
	if err != nil {
		return err
	}
	defer files.Close()
	written, left := []string{}, []skipped{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rest.Fail(http.StatusBadRequest, "Invalid multipart data.")
		}
		if part.FormName() != "files" {
			continue
		}
		if len(written)+len(left) == maxFiles {
			return fault.New(fault.Invalid, fmt.Sprintf("an upload has at most %d files", maxFiles))
		}
		name, err := freeName(r.Context(), files, part.FileName())
		if err == nil {
			_, err = files.Write(r.Context(), path.Join(files.Path(), name), part)
		}
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if err != nil {
			left = append(left, skipped{part.FileName(), fault.Text(fileError(err, part.FileName()))})
			continue
		}
		written = append(written, path.Join(files.Path(), name))
	}
	if len(written)+len(left) == 0 {
		return schema.Missing("body", "files")
	}
	// OpenHands' document names the list file_urls, its server uploaded_files.
	return rest.JSON(w, http.StatusOK, map[string]any{"uploaded_files": written, "file_urls": written, "skipped_files": left})
}

// freeName returns the name of a file of the workspace's directory that does not exist,
// for one that a client sends.
func freeName(ctx context.Context, files workspace.Files, sent string) (string, error) {
	base := path.Base(strings.ReplaceAll(sent, `\`, "/"))
	if base == "." || base == "/" || base == ".." || strings.HasPrefix(base, ".git") || strings.ContainsFunc(base, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", fault.New(fault.Invalid, "this cannot be the name of an uploaded file")
	}
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	for n, name := 1, base; ; n++ {
		_, err := files.Stat(ctx, path.Join(files.Path(), name))
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil || n == maxFiles {
			return "", errors.Join(err, fault.New(fault.Conflict, "the name is taken"))
		}
		name = fmt.Sprintf("%s (%d)%s", stem, n, ext)
	}
}

// ignoreRules are the lines of a .gitignore.
type ignoreRules []string

// maxRules bounds how many of them count: a repository's file is hostile.
const maxRules = 1000

// readIgnore reads the .gitignore of the workspace. One that cannot be read as a file
// ignores nothing.
func readIgnore(ctx context.Context, files workspace.Files) (rules ignoreRules, err error) {
	raw, err := readAll(ctx, files, path.Join(files.Path(), ".gitignore"))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, workspace.ErrNotFile), errors.Is(err, workspace.ErrOutside):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rules = append(rules, line); len(rules) == maxRules {
			break
		}
	}
	return rules, nil
}

// ignores reports whether the rules ignore a path, which is relative to the workspace, or
// a directory above it. The last rule that matches counts.
func (i ignoreRules) ignores(name string, dir bool) bool {
	if up := path.Dir(name); up != "." && up != "/" && i.ignores(up, true) {
		return true
	}
	out := false
	for _, rule := range i {
		pattern, again := strings.CutPrefix(rule, "!")
		pattern, onlyDir := strings.CutSuffix(pattern, "/")
		if onlyDir && !dir {
			continue
		}
		full := name
		if strings.HasPrefix(pattern, "/") { // only at the top
			pattern, full = pattern[1:], "/"+name
			if !strings.Contains(pattern, "/") {
				pattern = "/" + pattern
			} else {
				full = name
			}
		}
		if skill.Glob(pattern, full) {
			out = !again
		}
	}
	return out
}
