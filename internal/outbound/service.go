package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Service asks services with JSON that a user names and that are asked rarely: it keeps no
// connection, and follows no redirect.
type Service struct {
	name string
	http *http.Client
}

// NewService returns a client. name is what errors call the service, such as "critic".
func NewService(name string) *Service {
	route := NewRoute(net.Dialer{Timeout: 10 * time.Second})
	return &Service{name: name, http: &http.Client{
		Transport:     &http.Transport{Proxy: route.Proxy, DialContext: route.Dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 20},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Ask is a request to a [Service].
type Ask struct {
	Method, URL string
	Key         string // a bearer token; "" for none
	Body        any    // nil for none
}

// maxAnswer bounds the answer of a service.
const maxAnswer = 1 << 20

// StatusError is in the error of an answer with another status than 200.
type StatusError int

// Error implements error.
func (e StatusError) Error() string { return fmt.Sprintf("it answered with status %d", int(e)) }

// Ask sends a request and reads its answer into out. Invalid for an address that cannot be used, Auth
// for a key that the service does not accept, Denied as the package says, and Unavailable for
// anything else. Errors name the host; they have neither the key nor the server's words.
func (s *Service) Ask(ctx context.Context, q Ask, out any) error {
	var body io.Reader
	if q.Body != nil {
		raw, err := json.Marshal(q.Body)
		if err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, q.URL, body)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fault.New(fault.Invalid, "the address of the "+s.name+" cannot be used").Hint("it is like https://host/path")
	}
	req.Header.Set("Content-Type", "application/json")
	if q.Key != "" {
		req.Header.Set("Authorization", "Bearer "+q.Key)
	}
	who := "the " + s.name + " at " + req.URL.Host
	resp, err := s.http.Do(req)
	if err != nil {
		return unanswered(ctx, who, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.New(fault.Auth, who+" does not accept the key").Because(StatusError(resp.StatusCode))
	default:
		return fault.New(fault.Unavailable, who+" is not available").Because(StatusError(resp.StatusCode))
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return unanswered(ctx, who, err)
	}
	if len(raw) > maxAnswer || json.Unmarshal(raw, out) != nil {
		return fault.New(fault.Unavailable, "the answer of "+who+" cannot be read")
	}
	return nil
}

// unanswered is the error of a request without an answer. The error of net/http has the address
// with its query.
func unanswered(ctx context.Context, who string, err error) error {
	if own, ok := errors.AsType[*url.Error](err); ok {
		err = own.Err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Unavailable, who+" has not answered in time")
	case fault.Is(err, fault.Denied):
		return err
	}
	return fault.New(fault.Unavailable, who+" cannot be reached").Because(err)
}
