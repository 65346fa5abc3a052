package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/workspace"
)

// errChanged says that another file is under the name of one that is read.
var errChanged = fault.New(fault.Conflict, "the file has changed while it was read")

// Open implements [workspace.Files].
func (c *Client) Open(ctx context.Context, path string) (workspace.File, error) {
	f := &file{c: c, ctx: ctx, path: path}
	resp, err := c.send(ctx, http.MethodGet, f.url(), nil, contentTimeout)
	if err != nil {
		return nil, err
	}
	if err := readHeader(resp.Header.Get(fileHeader), &f.st); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	f.body, f.tag = resp.Body, resp.Header.Get("ETag")
	return f, nil
}

// file is a file that is read. Its content comes in one answer, and in another one
// after each seek elsewhere.
type file struct {
	c    *Client
	ctx  context.Context // of Open
	path string
	tag  string // of the content that was opened
	st   fileInfo

	at   int64         // where the caller reads
	from int64         // where body reads
	body io.ReadCloser // nil for none
}

func (f *file) url() string { return contentPath + "?path=" + url.QueryEscape(f.path) }

// Stat implements [workspace.File].
func (f *file) Stat() (fs.FileInfo, error) { return &f.st, nil }

// Read implements [workspace.File].
func (f *file) Read(p []byte) (int, error) {
	left := f.st.Size() - f.at
	if left <= 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if f.body == nil || f.from != f.at {
		if err := f.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := f.body.Read(p[:min(int64(len(p)), left)])
	f.at += int64(n)
	f.from = f.at
	switch {
	case errors.Is(err, io.EOF) && f.at < f.st.Size():
		err = io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		err = nil // the next call says so
	}
	return n, err
}

// reopen asks for the content from where the caller reads, if it is still the same.
func (f *file) reopen() error {
	if err := f.Close(); err != nil {
		return err
	}
	resp, err := f.c.send(f.ctx, http.MethodGet, f.url(), nil, contentTimeout, "If-Match", f.tag, "Range", "bytes="+strconv.FormatInt(f.at, 10)+"-")
	if err != nil {
		return err
	}
	if f.at > 0 && resp.StatusCode != http.StatusPartialContent {
		return errors.Join(fault.New(fault.Corrupt, "the action server sent another part of a file"), resp.Body.Close())
	}
	f.body, f.from = resp.Body, f.at
	return nil
}

// Seek implements [workspace.File].
func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.st.Size()
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek in %s: %w", f.path, fs.ErrInvalid)
	}
	f.at = offset
	return offset, nil
}

// Close implements [workspace.File].
func (f *file) Close() error {
	if f.body == nil {
		return nil
	}
	body := f.body
	f.body = nil
	return body.Close()
}
