package awscred

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/fault"
)

// Limits of a request for keys.
const (
	connectTime = 5 * time.Second
	answerTime  = 30 * time.Second
	maxAnswer   = 1 << 20 // bytes
	maxMessage  = 300     // bytes of a service's words in an error
)

// errTooLarge is an answer or a file beyond its bound.
var errTooLarge = errors.New("too large")

// answer is what a service says.
type answer struct {
	status int
	body   []byte
}

// fetch makes a request. service is its name in errors.
func fetch(ctx context.Context, client *http.Client, req *http.Request, service string) (answer, error) {
	req.Header.Set("User-Agent", "deft")
	res, err := client.Do(req)
	if err != nil {
		return answer{}, unreached(ctx, service, req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := readBounded(res.Body, maxAnswer)
	if err != nil {
		return answer{}, unreached(ctx, service, req.URL.Host, err)
	}
	return answer{res.StatusCode, body}, nil
}

func readBounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = errTooLarge
	}
	return b, err
}

// unreached is the error of a service that does not answer. What ended with the
// call's context is explained by the caller.
func unreached(ctx context.Context, service, host string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may hold more than the host
	}
	return fault.Wrap(err, fault.Unavailable, "no AWS credentials: cannot reach "+service+" at "+host)
}

// refused is the error of keys that were not given. Services in trouble may
// give them later.
func (a answer) refused(service, code, message string) *fault.Error {
	kind := fault.Auth
	if a.status >= 500 || a.status == http.StatusTooManyRequests || strings.Contains(code, "Throttl") {
		kind = fault.Unavailable
	}
	why := strings.Join(strings.Fields(message), " ")
	if len(why) > maxMessage {
		why = strings.ToValidUTF8(why[:maxMessage], "") + "…"
	}
	text := fmt.Sprintf("%s gave no AWS credentials (HTTP %d", service, a.status)
	if code != "" {
		text += ", " + code
	}
	text += ")"
	if why != "" {
		text += ": " + why
	}
	return fault.New(kind, text)
}

// malformed is the error of an answer that is not what is documented.
func malformed(service string) error {
	return fault.New(fault.Unavailable, service+" gave an answer without AWS credentials")
}

// endpoint is the base URL of a service, without a slash at its end: that of
// the settings, else of its host
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
func (s *search) endpoint(service, host string, p settings) string {
	base := "https://" + host
	if !strings.EqualFold(s.env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		base = cmp.Or(s.env("AWS_ENDPOINT_URL_"+service), s.env("AWS_ENDPOINT_URL"), p["endpoint_url"], base)
	}
	return strings.TrimRight(base, "/")
}
