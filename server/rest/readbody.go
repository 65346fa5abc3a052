package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyTimeout is how long a client may send nothing of a body. The whole body may
// take any time.
const bodyTimeout = 15 * time.Second

// timedBody is a request's body whose Read ends after bodyTimeout.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// limitBodyTime sets the deadline of the first Read at once, because net/http
// itself reads the rest that a handler leaves.
func limitBodyTime(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	p := timedBody{r.Body, http.NewResponseController(w)}
	if p.conn.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil { // else the writer has no connection
		r.Body = p
	}
}

// Read implements [io.Reader]. It removes the deadline at the end of the body:
// afterwards net/http reads the connection to notice a client that leaves.
func (p timedBody) Read(b []byte) (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return 0, err
	}
	n, err := p.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		if derr := p.conn.SetReadDeadline(time.Time{}); derr != nil {
			return n, derr
		}
	}
	return n, err
}

// openBody is the body of a request without a checked credential.
type openBody struct {
	io.ReadCloser
	trusted io.ReadCloser
}

// Trust lets the client of a Public or Checked route send a body of [Route].Trusted bytes.
// The handler calls it when it has checked who the client is.
func Trust(r *http.Request) {
	if b, ok := r.Body.(*openBody); ok {
		b.ReadCloser = b.trusted
	}
}

// boundBody bounds the body of a request. It returns false if the client announces a
// longer one.
func (r Route) boundBody(w http.ResponseWriter, req *http.Request) bool {
	limitBodyTime(w, req)
	limit := r.Limit
	switch {
	case limit < 0:
		return true
	case limit == 0:
		limit = DefaultBody
	}
	if req.ContentLength > max(limit, r.Trusted) {
		return false
	}
	body := req.Body
	req.Body = http.MaxBytesReader(w, body, limit)
	if r.Trusted > limit {
		req.Body = &openBody{req.Body, http.MaxBytesReader(w, body, r.Trusted)}
	}
	return true
}

// Bodies up to chunk are read without a limit on their number, longer ones few at
// a time, so that the memory of bodies that are being read is bounded.
const (
	chunk         = 1 << 20
	maxLongBodies = 2
)

var longBodies = make(chan struct{}, maxLongBodies)

// readAll reads a body of the length that the client announced, or of any.
func readAll(r *http.Request) ([]byte, error) {
	first, err := io.ReadAll(io.LimitReader(r.Body, chunk))
	if err != nil || len(first) < chunk {
		return first, err
	}
	select {
	case longBodies <- struct{}{}:
		defer func() { <-longBodies }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if n := r.ContentLength; n > chunk { // the route's limit has been checked
		all := append(make([]byte, 0, n), first...)
		_, err := io.ReadFull(r.Body, all[chunk:n])
		return all[:n], err
	}
	parts, part := [][]byte{first}, make([]byte, 0, chunk)
	for {
		n, err := r.Body.Read(part[len(part):chunk])
		part = part[:len(part)+n]
		if err == nil && len(part) < chunk {
			continue
		}
		parts = append(parts, part)
		switch {
		case errors.Is(err, io.EOF):
			return bytes.Join(parts, nil), nil
		case err != nil:
			return nil, err
		}
		part = make([]byte, 0, chunk)
	}
}
