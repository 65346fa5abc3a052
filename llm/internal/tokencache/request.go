package tokencache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Limits of a request for credentials.
const (
	connectTime = 5 * time.Second
	answerTime  = 30 * time.Second
	maxAnswer   = 1 << 20  // bytes
	maxFile     = 64 << 10 // bytes of a file with a token
	maxMessage  = 300      // bytes of a service's message in an error
)

var errTooLarge = errors.New("too large")

// NewClient makes a client that follows no redirect, because headers hold
// tokens, and keeps no connection, because it is used a few times an hour. A
// direct client uses no proxy; it is for services of the machine itself.
func NewClient(direct bool) *http.Client {
	t := &http.Transport{
		DisableKeepAlives: true, TLSHandshakeTimeout: connectTime,
		DialContext: (&net.Dialer{Timeout: connectTime}).DialContext,
	}
	if !direct {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport: t, Timeout: answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Answer is the response of a service.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 1 MiB
}

// Fetch makes a request. service is the name of its receiver in errors. When
// ctx ends, its cause is returned as it is.
func Fetch(ctx context.Context, client *http.Client, req *http.Request, service string) (Answer, error) {
	req.Header.Set("User-Agent", "deft")
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, unreached(ctx, service, req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := readBounded(res.Body, maxAnswer)
	if err != nil {
		return Answer{}, unreached(ctx, service, req.URL.Host, err)
	}
	return Answer{res.StatusCode, res.Header, body}, nil
}

func unreached(ctx context.Context, service, host string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may hold more than the host
	}
	return fault.Wrap(err, fault.Unavailable, "no credentials: cannot reach "+service+" at "+host)
}

// Refused returns the error of a service that gave no credentials: Unavailable
// if it failed or was busy, else Auth. service is its name, code and message are
// from its answer.
func (a Answer) Refused(service, code, message string) *fault.Error {
	kind := fault.Auth
	throttled := a.Status == http.StatusBadRequest && strings.Contains(code, "Throttl") // as Amazon's STS says it
	if a.Status >= 500 || a.Status == http.StatusTooManyRequests || throttled {
		kind = fault.Unavailable
	}
	text := fmt.Sprintf("%s gave no credentials (HTTP %d", service, a.Status)
	if code != "" {
		text += ", " + Line(code)
	}
	text += ")"
	if message != "" {
		text += ": " + Line(message)
	}
	return fault.New(kind, text)
}

// Malformed returns the error of an answer without credentials.
func Malformed(service string) error {
	return fault.New(fault.Unavailable, service+" gave an answer without credentials")
}

// Line makes text of a service one line of at most 300 bytes.
func Line(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// ReadFile reads a file with a token, at most 64 KiB.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, maxFile)
}

func readBounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = errTooLarge
	}
	return b, err
}
