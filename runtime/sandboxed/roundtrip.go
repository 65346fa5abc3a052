package sandboxed

import (
	"errors"
	"io"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
)

var _ http.RoundTripper = (*Runtime)(nil)

// RoundTrip implements [http.RoundTripper] for requests to the server that are not
// about actions. If the server has ended, a new one gets the request, unless its body
// was sent and cannot be read again: it has no GetBody.
func (r *Runtime) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	body := req.Body
	if body != nil {
		defer body.Close()
	}
	var final error
	err = r.try(req.Context(), func(rt runtime.Runtime) (err error) {
		via, ok := rt.(http.RoundTripper)
		if !ok {
			return fault.New(fault.Unsupported, "this runtime has no files")
		}
		again := req.Clone(req.Context())
		switch {
		case req.GetBody != nil:
			if again.Body, err = req.GetBody(); err != nil {
				return fault.Wrap(err, fault.Invalid, "read the request again")
			}
		case body != nil:
			again.Body = io.NopCloser(body) // closed above, not after the first attempt
		}
		resp, err = via.RoundTrip(again) //nolint:bodyclose // the caller closes it
		if err != nil && body != nil && req.GetBody == nil && !errors.Is(err, runtime.ErrNotSent) {
			final = err
			return nil
		}
		return err
	})
	return resp, errors.Join(err, final)
}
