package exchange

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
)

// NewRequest returns a POST request with a body in parts, which must not change
// until the exchange is over. It sets no headers.
func NewRequest(ctx context.Context, url string, body ...[]byte) (*http.Request, error) {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(size)
	req.GetBody = func() (io.ReadCloser, error) { return newParts(body), nil }
	req.Body = newParts(body)
	return req, nil
}

func newParts(body [][]byte) io.ReadCloser {
	parts := net.Buffers(slices.Clone(body)) // reading takes them out
	return io.NopCloser(&parts)
}
