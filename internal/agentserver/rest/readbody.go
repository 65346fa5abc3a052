package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// patience is how long a client may leave a body without a byte. A body may
// take as long as it needs, but not a connection for nothing.
const patience = 15 * time.Second

// patient is a request's body whose reader does not wait for ever.
type patient struct {
	io.ReadCloser
	conn *http.ResponseController
}

// impatient lets the body of a request come in time. The deadline is there
// from the start, because net/http itself reads what a handler leaves.
func impatient(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	p := patient{r.Body, http.NewResponseController(w)}
	if p.conn.SetReadDeadline(time.Now().Add(patience)) == nil { // else it is no connection
		r.Body = p
	}
}

// Read implements [io.Reader]. The deadline ends with the body: the server
// watches the connection afterwards, and would take it for a client that left.
func (p patient) Read(b []byte) (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
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

// Bodies up to piece are read by as many as come, longer ones by few at a time:
// what clients can make the server hold while it reads is bounded. Once it is
// decoded, a body that is too long to be quoted is let go.
const (
	piece    = 1 << 20
	longOnes = 2
)

var slots = make(chan struct{}, longOnes)

// readAll reads a body of the length that the client announced, or of any.
func readAll(r *http.Request) ([]byte, error) {
	first, err := io.ReadAll(io.LimitReader(r.Body, piece))
	if err != nil || len(first) < piece {
		return first, err
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if n := r.ContentLength; n > piece { // the route's limit has been checked
		all := append(make([]byte, 0, n), first...)
		_, err := io.ReadFull(r.Body, all[piece:n])
		return all[:n], err
	}
	parts, part := [][]byte{first}, make([]byte, 0, piece)
	for {
		n, err := r.Body.Read(part[len(part):piece])
		part = part[:len(part)+n]
		if err == nil && len(part) < piece {
			continue
		}
		parts = append(parts, part)
		switch {
		case errors.Is(err, io.EOF):
			return bytes.Join(parts, nil), nil
		case err != nil:
			return nil, err
		}
		part = make([]byte, 0, piece)
	}
}
