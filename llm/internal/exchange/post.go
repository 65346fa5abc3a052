package exchange

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"

	"github.com/deft-dev/deft/llm"
)

// maxErrorBody is how much of an error answer is read: 64 KiB.
const maxErrorBody = 64 << 10

// Header names that adapters set besides their own.
const (
	SessionHeader = "X-Litellm-Session-Id"
	userAgent     = "deft"
)

// Post sends a JSON body, in parts, to the path below the base URL and returns an
// answer of status 2xx. Any other answer is an *llm.Error; other errors come from
// the connection, to be classified by Failure. Redirects are followed within one
// server only, so that no other server gets the body or the key.
func (e *Endpoint) Post(ctx context.Context, path string, h http.Header, body ...[]byte) (*http.Response, error) {
	req, err := NewRequest(ctx, e.BaseURL+"/"+path, body...)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", scrub(err))
	}
	maps.Copy(req.Header, h)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent+" ("+runtime.GOOS+")")
	}
	return e.Send(req, e.StatusError)
}

// Send sends a request and returns an answer of status 2xx. For any other answer
// it returns the error made by explain; other errors come from the connection.
func (e *Endpoint) Send(req *http.Request, explain func(status int, h http.Header, body []byte) *llm.Error) (*http.Response, error) {
	res, err := e.HTTP.Do(req)
	if err != nil || res.StatusCode < 300 && !isHTML(res.Header, nil) {
		return res, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && len(answer) == 0 {
		answer = nil // the status still classifies the error
	}
	return nil, explain(res.StatusCode, res.Header, answer)
}
