package remote

import (
	"errors"
	"io"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
)

var _ http.RoundTripper = (*Runtime)(nil)

// RoundTrip implements [http.RoundTripper] for requests to the server that are not
// about actions, such as requests of workspace/link. The error is of kind
// fault.Unavailable if there is no answer, and holds runtime.ErrNotSent if there was no
// server to send the request to. The answer ends with Close of the Runtime.
func (r *Runtime) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, done := r.while(req.Context())
	resp, err := r.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		defer done()
		var dial *dialError
		switch {
		case ctx.Err() != nil:
			return nil, r.left(ctx)
		case errors.As(err, &dial):
			err = errors.Join(runtime.ErrNotSent, err)
		}
		return nil, fault.Wrap(err, fault.Unavailable, "the action server cannot be reached")
	}
	resp.Body = &answerBody{resp.Body, done}
	return resp, nil
}

// answerBody ends the context of its request when it is closed.
type answerBody struct {
	io.ReadCloser
	done func()
}

// Close implements [io.Closer].
func (b *answerBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
