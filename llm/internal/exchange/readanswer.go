package exchange

import (
	"encoding/json"
	"errors"
	"io"
)

// MaxAnswer is the maximum size of an answer: 64 MiB.
const MaxAnswer = 64 << 20

// ErrTooLarge is the error of an answer larger than [MaxAnswer].
var ErrTooLarge = errors.New("the answer is larger than 64 MiB")

// maxStream is the maximum size of a streamed answer with its framing, which is a
// few hundred bytes for each token: 256 MiB.
const maxStream = 256 << 20

var errEndless = errors.New("the answer does not end: it is larger than 256 MiB")

// boundedStream is a body that ends in errEndless.
type boundedStream struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedStream) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEndless
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// ReadWhole reads an answer that is one document. If it is too large, the error is
// Malformed; other errors come from the connection.
func (e *Endpoint) ReadWhole(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, MaxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxAnswer {
		return nil, e.Malformed(ErrTooLarge, false)
	}
	return WithoutMark(data), nil
}

// ReadJSON is [Endpoint.ReadWhole] for JSON, which is decoded into v. If it is
// not JSON, the error is Malformed.
func (e *Endpoint) ReadJSON(body io.Reader, v any) ([]byte, error) {
	data, err := e.ReadWhole(body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, e.Malformed(err, false)
	}
	return data, nil
}
