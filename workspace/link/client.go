package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/workspace"
)

// host names the server in URLs; it is not resolved.
const host = "http://actions"

// How long a client waits for the next bytes of an answer: git and the search for
// skills may take their time before the first one.
const (
	contentTimeout = time.Minute
	queryTimeout   = 6 * time.Minute
)

// Client is a workspace behind an action server. Make one with [New].
type Client struct {
	path string
	via  http.RoundTripper
}

var _ workspace.Files = (*Client)(nil)

// New returns the workspace whose path in its sandbox is path, reached by requests to
// its action server. Only their paths count, not their host.
func New(path string, via http.RoundTripper) *Client { return &Client{path, via} }

// Path implements [workspace.Files].
func (c *Client) Path() string { return c.path }

// Close implements [workspace.Files]. The connection belongs to the caller of New.
func (c *Client) Close() error { return nil }

// errSilent is the cause of a context that ended because no bytes came.
var errSilent = fault.New(fault.Timeout, "the action server sends no answer")

// answered is the body of an answer, which must not pause for too long.
type answered struct {
	io.ReadCloser
	ctx     context.Context // of the one request
	cancel  context.CancelCauseFunc
	silence *time.Timer
	timeout time.Duration
}

// Read implements [io.Reader].
func (a *answered) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.silence.Reset(a.timeout)
	if err != nil && !errors.Is(err, io.EOF) && a.ctx.Err() != nil {
		err = context.Cause(a.ctx)
	}
	return n, err
}

// Close implements [io.Closer].
func (a *answered) Close() error {
	a.silence.Stop()
	a.cancel(nil)
	return a.ReadCloser.Close()
}

// send sends a request. Close the body of the answer. The error comes from the server
// if it refuses.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, timeout time.Duration, headers ...string) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(timeout, func() { cancel(errSilent) })
	fail := func(err error) (*http.Response, error) {
		silence.Stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, err
	}
	if _, again := body.(*bytes.Reader); body != nil && !again { // those may be sent again
		moving := &sent{r: body, silence: silence, timeout: timeout}
		defer moving.end()
		body = moving
	}
	req, err := http.NewRequestWithContext(ctx, method, host+path, body)
	if err != nil {
		return fail(fault.Wrap(err, fault.Invalid, "ask for files"))
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.via.RoundTrip(req)
	if err != nil {
		return fail(err)
	}
	resp.Body = &answered{resp.Body, ctx, cancel, silence, timeout}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusPreconditionFailed && len(headers) > 0 {
		return nil, errChanged
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the action server's answer was cut off")
	}
	var f failure
	if json.Unmarshal(raw, &f) != nil || f.Message == "" {
		return nil, fault.New(fault.Corrupt, "the action server answered with HTTP status "+resp.Status)
	}
	return nil, f.err()
}

// sent is a body that is sent: as long as it moves, the server is not silent. Nothing
// reads it any more once it has ended, though the transport may try to.
type sent struct {
	r       io.Reader
	silence *time.Timer
	timeout time.Duration

	mu    sync.Mutex
	ended bool
}

// Read implements [io.Reader].
func (s *sent) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, io.ErrClosedPipe
	}
	n, err := s.r.Read(p)
	s.silence.Reset(s.timeout)
	return n, err
}

// end waits for a reader, and stops others.
func (s *sent) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// decode reads the answer to a request.
func decode(resp *http.Response, v any) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the action server's answer was cut off")
	}
	if len(raw) > maxAnswer {
		return fault.New(fault.Limit, fmt.Sprintf("the action server's answer has more than %d MB", maxAnswer>>20))
	}
	return fault.Wrap(json.Unmarshal(raw, v), fault.Corrupt, "the action server's answer cannot be read")
}

// question asks one.
func question[T any](ctx context.Context, c *Client, q query) (found T, err error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return found, fault.Wrap(err, fault.Invalid, "ask for files")
	}
	resp, err := c.send(ctx, http.MethodPost, queryPath, bytes.NewReader(raw), queryTimeout)
	if err != nil {
		return found, err
	}
	return found, decode(resp, &found)
}

// Stat implements [workspace.Files].
func (c *Client) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	st, err := question[fileInfo](ctx, c, query{Op: opStat, Path: []byte(path)})
	if err != nil {
		return nil, err
	}
	return &st, nil
}

// List implements [workspace.Files].
func (c *Client) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	list, err := question[[]fileInfo](ctx, c, query{Op: opList, Path: []byte(path)})
	if err != nil {
		return nil, err
	}
	if len(list) > workspace.MaxEntries {
		return nil, workspace.ErrTooLarge
	}
	found := make([]fs.FileInfo, len(list))
	for i := range list {
		found[i] = &list[i]
	}
	return found, nil
}

// MakeDirectory implements [workspace.Files].
func (c *Client) MakeDirectory(ctx context.Context, path string) error {
	_, err := question[struct{}](ctx, c, query{Op: opMakeDirectory, Path: []byte(path)})
	return err
}

// Write implements [workspace.Files].
func (c *Client) Write(ctx context.Context, path string, r io.Reader) (int64, error) {
	// A question is asked again if the server has ended meanwhile, but r can be read once.
	if _, err := c.Stat(ctx, "."); fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
		return 0, err
	}
	resp, err := c.send(ctx, http.MethodPut, contentPath+"?path="+url.QueryEscape(path), r, contentTimeout)
	if err != nil {
		return 0, err
	}
	var size int64
	err = decode(resp, &size)
	return size, err
}

// Archive implements [workspace.Files].
func (c *Client) Archive(ctx context.Context, path string, a workspace.Archive, w io.Writer) (workspace.Archived, error) {
	raw, err := json.Marshal(archiveRequest{[]byte(path), a})
	if err != nil {
		return workspace.Archived{}, fault.Wrap(err, fault.Invalid, "ask for an archive")
	}
	resp, err := c.send(ctx, http.MethodPost, archivePath, bytes.NewReader(raw), queryTimeout)
	if err != nil {
		return workspace.Archived{}, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, io.LimitReader(resp.Body, workspace.MaxArchive+1))
	switch {
	case err != nil:
		return workspace.Archived{}, fmt.Errorf("take an archive: %w", err)
	case n > workspace.MaxArchive:
		return workspace.Archived{}, workspace.ErrTooLarge
	}
	var end archived
	text := resp.Trailer.Get(archivedTrailer)
	if text == "" {
		return workspace.Archived{}, fmt.Errorf("take an archive: %w", io.ErrUnexpectedEOF)
	}
	if err := readHeader(text, &end); err != nil {
		return workspace.Archived{}, err
	}
	return end.result()
}

// Changes implements [workspace.Git].
func (c *Client) Changes(ctx context.Context, dir, ref string) ([]gitview.Change, error) {
	return question[[]gitview.Change](ctx, c, query{Op: opChanges, Path: []byte(dir), Ref: ref})
}

// Compare implements [workspace.Git].
func (c *Client) Compare(ctx context.Context, dir, ref string) ([]gitview.Comparison, error) {
	return question[[]gitview.Comparison](ctx, c, query{Op: opCompare, Path: []byte(dir), Ref: ref})
}

// FileDiff implements [workspace.Git].
func (c *Client) FileDiff(ctx context.Context, file, ref string) (gitview.Diff, error) {
	return question[gitview.Diff](ctx, c, query{Op: opFileDiff, Path: []byte(file), Ref: ref})
}

// CommitDiff implements [workspace.Git].
func (c *Client) CommitDiff(ctx context.Context, file, commit string) (gitview.Diff, error) {
	return question[gitview.Diff](ctx, c, query{Op: opCommitDiff, Path: []byte(file), Ref: commit})
}

// Commits implements [workspace.Git].
func (c *Client) Commits(ctx context.Context, dir string, limit int) (gitview.Commits, error) {
	return question[gitview.Commits](ctx, c, query{Op: opCommits, Path: []byte(dir), Limit: limit})
}

// CommitChanges implements [workspace.Git].
func (c *Client) CommitChanges(ctx context.Context, dir, commit string) ([]gitview.Change, error) {
	return question[[]gitview.Change](ctx, c, query{Op: opCommitChanges, Path: []byte(dir), Ref: commit})
}

// Head implements [workspace.Git].
func (c *Client) Head(ctx context.Context, dir string) (string, error) {
	return question[string](ctx, c, query{Op: opHead, Path: []byte(dir)})
}

// Skills implements [workspace.Files].
func (c *Client) Skills(ctx context.Context) ([]skill.Skill, []skill.Warning, error) {
	s, err := question[skills](ctx, c, query{Op: opSkills})
	if err != nil {
		return nil, nil, err
	}
	for i := range s.Skills {
		if string(s.Skills[i].MCPTools) == "null" {
			s.Skills[i].MCPTools = nil
		}
	}
	var warnings []skill.Warning
	for _, w := range s.Warnings {
		if err := w.Error.err(); err != nil {
			warnings = append(warnings, skill.Warning{Path: string(w.Path), Err: err})
		}
	}
	return s.Skills, warnings, nil
}
