package exchange

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
)

// flat is up to how many bytes a body is put together: net/http sends one that
// lies in memory whole in fewer packets.
const flat = 64 << 10

// NewRequest makes a POST request of a body in parts, which are not changed
// until the exchange is over. It sets no headers.
func NewRequest(ctx context.Context, url string, body ...[]byte) (*http.Request, error) {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	if len(body) == 1 || size <= flat {
		return http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(slices.Concat(body...)))
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
