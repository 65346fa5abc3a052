package executionserver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/deft-dev/deft/server/v0event"
)

// maxRead is how many bytes a file may have that is read or changed by an action.
const maxRead = 32 << 20

// media are the files that are read as data: URLs, by the end of their names.
var media = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".bmp": "image/bmp", ".gif": "image/gif",
	".pdf": "application/pdf", ".mp4": "video/mp4", ".webm": "video/webm", ".ogg": "video/ogg",
}

// resolve returns the absolute path of an action's path: relative paths begin at the
// shell's directory.
func (s *Server) resolve(path string) (full, dir string) {
	s.mu.Lock()
	dir = s.cwd
	s.mu.Unlock()
	if filepath.IsAbs(path) {
		return filepath.Clean(path), dir
	}
	return filepath.Join(dir, path), dir
}

// load reads a regular file.
func (s *Server) load(path string) ([]byte, error) {
	root, rel, err := s.files.find(path)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(raw) > maxRead {
		err = fmt.Errorf("%s has more than %d bytes", path, maxRead)
	}
	return raw, err
}

func (s *Server) readFile(a arguments) observation {
	path, dir := s.resolve(*a.Path)
	raw, err := s.load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("File not found: %s. Your current working directory is %s.", path, dir)
	case errors.Is(err, syscall.EISDIR):
		return failed("Path is a directory: %s. You can only read files", path)
	case err != nil:
		return failed("%v", err)
	}
	if mime := media[strings.ToLower(filepath.Ext(path))]; mime != "" {
		return v0event.Read(path, "default", "data:"+mime+";base64,"+base64.StdEncoding.EncodeToString(raw))
	}
	if bytes.IndexByte(raw[:min(len(raw), 1024)], 0) >= 0 {
		return failed("ERROR_BINARY_FILE")
	}
	if !utf8.Valid(raw) {
		return failed("File could not be decoded as utf-8: %s.", path)
	}
	lines := readLines(splitLines(string(raw)), value(a.Start, 0), value(a.End, -1))
	return v0event.Read(path, "default", strings.Join(lines, ""))
}

func value(p *int, or int) int {
	if p == nil {
		return or
	}
	return *p
}

// splitLines returns the lines with their ends.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// readLines returns the lines of a range as the reference counts: from 0 on, without
// the end, and never none of a file that has some.
func readLines(all []string, start, end int) []string {
	n := len(all)
	start = min(max(start, 0), n)
	if end == -1 {
		return all[start:]
	}
	end = min(max(end, 0), n)
	begin := max(0, min(start, n-2))
	return all[begin:min(max(begin+1, end), n)]
}

// insertLines replaces the lines of a range; -1 is the end.
func insertLines(insert, all []string, start, end int) []string {
	n := len(all)
	at := func(i int) int { // as a slice of Python counts
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	var out []string
	if start != 0 {
		out = append(out, all[:at(start)]...)
	}
	out = append(out, insert...)
	if end != -1 {
		out = append(out, all[at(end):]...)
	}
	return out
}

// writeFile writes lines. Unlike in the reference a content that ends with a newline
// gets no second one.
func (s *Server) writeFile(a arguments) observation {
	path, _ := s.resolve(*a.Path)
	old, err := s.load(path)
	exists := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, syscall.EISDIR):
		return failed("Path is a directory: %s. You can only write to files", path)
	case err != nil:
		return failed("%v", err)
	case !utf8.Valid(old):
		return failed("File could not be decoded as utf-8: %s", path)
	}
	text := *a.Content
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if exists {
		text = strings.Join(insertLines([]string{text}, splitLines(string(old)), value(a.Start, 0), value(a.End, -1)), "")
	}
	if err := s.store(path, []byte(text)); err != nil {
		return failed("%v", err)
	}
	return v0event.Wrote(path, "")
}

// store writes a file, whose mode stays as it is, and makes its directory.
func (s *Server) store(path string, text []byte) error {
	root, rel, err := s.files.find(path)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o664)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
