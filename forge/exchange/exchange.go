// Package exchange has the parts that all adapters of Git hosts share: one request with
// JSON, the errors of its answer, and the rate limits of the host.
//
// # Usage
//
//	c := exchange.New(exchange.Options{Base: base, HTTP: client, Limits: limits, Header: header})
//	head, err := c.Get(ctx, "/user", nil, &user)
//
// # Rate limits
//
// A host that wants fewer requests says until when: by Retry-After, or by RateLimit-Reset
// and X-RateLimit-Reset. Waits of a few seconds are waited for; for longer ones requests
// of the same account fail with fault.RateLimit, without being sent, until then.
//
// # Concurrency and failure
//
// A Client is safe for concurrent use. Answers beyond 8 MiB are an error. No error has
// the token or a URL with a query.
package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/wait"
)

const (
	requestTime = 20 * time.Second
	// maxBody bounds an answer; 100 repositories of GitHub are 700 KB.
	maxBody = 8 << 20
	// attempts is how often a request is sent that the host could not answer.
	attempts = 3
	// maxWait is how long is waited for a host.
	maxWait = 5 * time.Second
	// maxRedirects is how many of them are followed; a renamed repository has one.
	maxRedirects = 3
	// firstPause is before a request that a host in trouble gets again.
	firstPause = 100 * time.Millisecond
)

// Endpoint is an account at a host, for the adapters.
type Endpoint struct {
	// Web is the base URL of the host, without a slash at the end; nil for the provider's.
	Web    *url.URL
	Token  string
	HTTP   *http.Client
	Limits *Limits
}

// At returns the base URL of the host, or of a path below it.
func (e Endpoint) At(standard, path string) *url.URL {
	u := e.Web
	if u == nil {
		u, _ = url.Parse(standard) // a constant
	}
	return u.JoinPath(path)
}

// Options configure a Client.
type Options struct {
	Name string   // of the host, for people: GitHub
	Base *url.URL // of the API; paths are added to it
	// Header is sent with each request. It has the token.
	Header http.Header
	// Secret must not appear in any error.
	Secret string
	HTTP   *http.Client
	Limits *Limits
	// PageSize is the parameter of a page's size, "" for per_page, and MaxPage the host's
	// longest page, 0 for [forge.MaxPage].
	PageSize string
	MaxPage  int
}

// Client sends requests to a host.
type Client struct {
	o   Options
	key string // of the account's limits
}

// New returns a client, which follows redirects within the host only: headers have the
// token.
func New(o Options) *Client {
	own := *o.HTTP
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > maxRedirects || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || req.Method != first.Method {
			return http.ErrUseLastResponse
		}
		return nil
	}
	o.HTTP = &own
	return &Client{o: o, key: keyOf(o.Base, o.Secret)}
}

// Get asks for a JSON document, and returns the answer's header. With a nil out the
// document is dropped.
func (c *Client) Get(ctx context.Context, path string, q url.Values, out any) (http.Header, error) {
	return c.JSON(ctx, http.MethodGet, path, q, nil, out)
}

// Post sends a JSON document, and reads the answer's.
func (c *Client) Post(ctx context.Context, path string, body, out any) error {
	_, err := c.JSON(ctx, http.MethodPost, path, nil, body, out)
	return err
}

// JSON sends a request with a JSON document, nil for none, and reads the answer's.
func (c *Client) JSON(ctx context.Context, method, path string, q url.Values, body, out any) (http.Header, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	raw, head, err := c.send(ctx, method, path, q, sent)
	if err != nil || out == nil {
		return head, err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return head, fault.New(fault.Unavailable, c.o.Name+" has sent an answer that cannot be read")
	}
	return head, nil
}

// Page reads one page of a list, whose pages are numbered, into out. It returns the token of
// the next one, "" for the last page.
func (c *Client) Page(ctx context.Context, path string, q url.Values, p forge.Page, out any) (next string, err error) {
	n, size, err := p.Number()
	if err != nil {
		return "", err
	}
	size = min(size, cmp.Or(c.o.MaxPage, forge.MaxPage))
	q.Set("page", strconv.Itoa(n))
	q.Set(cmp.Or(c.o.PageSize, "per_page"), strconv.Itoa(size))
	head, err := c.Get(ctx, path, q, out)
	if err == nil && (head.Get("X-Next-Page") != "" || HasNext(head)) {
		next = forge.PageToken(n+1, size)
	}
	return next, err
}

// List reads one page of a list, and turns its items into the domain's.
func List[T, U any](ctx context.Context, c *Client, path string, q url.Values, p forge.Page, domain func(T) U) (out forge.List[U], err error) {
	var items []T
	out.Next, err = c.Page(ctx, path, q, p, &items)
	for _, item := range items {
		out.Items = append(out.Items, domain(item))
	}
	return out, err
}

// All reads all pages of a list, as [forge.All] does.
func All[T, U any](ctx context.Context, c *Client, path string, q url.Values, domain func(T) U) ([]U, error) {
	return forge.All(func(p forge.Page) (forge.List[U], error) { return List(ctx, c, path, q, p, domain) })
}

// GraphQL asks a question of a GraphQL API, at a URL relative to the base.
func (c *Client) GraphQL(ctx context.Context, path, query string, variables map[string]any, out any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := c.Post(ctx, path, map[string]any{"query": query, "variables": variables}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 && (len(answer.Data) == 0 || string(answer.Data) == "null" || answer.Errors[0].Type == "NOT_FOUND") {
		kinds := map[string]fault.Kind{"NOT_FOUND": fault.NotFound, "RATE_LIMITED": fault.RateLimit, "FORBIDDEN": fault.Denied, "INSUFFICIENT_SCOPES": fault.Denied}
		kind, ok := kinds[answer.Errors[0].Type]
		if !ok {
			kind = fault.Invalid
		}
		return fault.New(kind, c.o.Name+" says: "+c.clean(answer.Errors[0].Message))
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return fault.New(fault.Unavailable, c.o.Name+" has sent an answer that cannot be read")
	}
	return nil
}

// send sends a request until it is answered, waiting where the host asks for it.
func (c *Client) send(ctx context.Context, method, path string, q url.Values, body []byte) ([]byte, http.Header, error) {
	for attempt := 1; ; attempt++ {
		if until := c.o.Limits.until(c.key); time.Until(until) > maxWait {
			return nil, nil, c.limited(until)
		} else if err := wait.For(ctx, time.Until(until)); err != nil {
			return nil, nil, err
		}
		resp, err := c.once(ctx, method, path, q, body)
		if err != nil {
			return nil, nil, err
		}
		pause := c.o.Limits.note(c.key, resp)
		again := resp.status == http.StatusTooManyRequests || pause.asked && resp.status == http.StatusForbidden
		retryable := again || method == http.MethodGet && (resp.status == http.StatusBadGateway || resp.status == http.StatusServiceUnavailable || resp.status == http.StatusGatewayTimeout)
		if !retryable || attempt == attempts {
			if again {
				return nil, nil, c.limited(pause.until)
			}
			return resp.body, resp.header, c.refused(resp)
		}
		switch {
		case time.Until(pause.until) > maxWait && again:
			return nil, nil, c.limited(pause.until)
		case time.Until(pause.until) > maxWait:
			return nil, nil, c.refused(resp)
		case !pause.asked:
			if err := wait.For(ctx, time.Duration(attempt)*firstPause); err != nil {
				return nil, nil, err
			}
		}
	}
}

// answer is a host's answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// once sends a request and reads the answer.
func (c *Client) once(ctx context.Context, method, path string, q url.Values, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	at := c.o.Base.String() + path
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return answer{}, fault.New(fault.Invalid, "the address of a request to "+c.o.Name+" cannot be written")
	}
	req.Header = c.o.Header.Clone()
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return answer{}, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return answer{}, c.unreachable(ctx, err)
	}
	if len(raw) > maxBody {
		return answer{}, fault.New(fault.Unavailable, c.o.Name+" has sent an answer of more than 8 MiB")
	}
	return answer{resp.StatusCode, resp.Header, raw}, nil
}

// unreachable explains why there is no answer. The text of net/http has the URL.
func (c *Client) unreachable(ctx context.Context, err error) error {
	var timeout net.Error
	if own := fault.KindOf(err); own != fault.Internal && own != fault.Canceled && own != fault.Timeout {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return fault.Wrap(err, own, "ask "+c.o.Name+" at "+c.o.Base.Host)
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, c.o.Name+" at "+c.o.Base.Host+" does not answer in time")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	failed := fault.New(fault.Unavailable, c.o.Name+" at "+c.o.Base.Host+" cannot be reached").Because(errors.New(c.clean(err.Error())))
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		failed = failed.Hint("if the authority of its certificate is your own, start this program with SSL_CERT_FILE, the file that has the authority's certificate")
	}
	return failed
}

func (c *Client) limited(until time.Time) error {
	return fault.New(fault.RateLimit, c.o.Name+" takes no more requests of this account until "+until.UTC().Format("15:04:05 UTC")).
		Hint("try again then")
}

// refused is the error of an answer, nil for a success.
func (c *Client) refused(resp answer) error {
	if resp.status < 300 {
		return nil
	}
	said := c.clean(message(resp.body))
	if said == "" {
		said = fmt.Sprintf("status %d", resp.status)
	}
	text := c.o.Name + " says: " + said
	switch code := resp.status; {
	case code == http.StatusUnauthorized:
		return fault.New(fault.Auth, c.o.Name+" refuses the token").Because(errors.New(said)).Hint("store a valid token in the settings")
	case code == http.StatusForbidden:
		return fault.New(fault.Denied, text).Hint("the token may lack a permission")
	case code == http.StatusNotFound || code == http.StatusGone:
		return fault.New(fault.NotFound, text)
	case code == http.StatusConflict:
		return fault.New(fault.Conflict, text)
	case code < 400: // a redirect to another host, which is not followed
		return fault.New(fault.Unavailable, c.o.Name+" at "+c.o.Base.Host+" sends requests to another host, which are not followed").
			Hint("set the host to the address that it has now")
	case code >= 500:
		return fault.New(fault.Unavailable, text)
	}
	return fault.New(fault.Invalid, text)
}

// message is the text of a host's error: {"message"}, {"error": {"message"}},
// {"errors": [{"message"}]}, or of fields: {"message": {"title": ["is too long"]}}.
func message(raw []byte) string {
	var said struct {
		Message any `json:"message"`
		Error   any `json:"error"`
		Errors  any `json:"errors"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return ""
	}
	var parts []string
	for _, v := range []any{said.Message, said.Error, said.Errors} {
		parts = append(parts, texts(v)...)
	}
	return strings.Join(parts, "; ")
}

func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, texts(one)...)
		}
	case map[string]any:
		if m, ok := v["message"]; ok {
			return texts(m)
		}
		for _, field := range slices.Sorted(maps.Keys(v)) { // the host's text for each
			if about := texts(v[field]); len(about) > 0 {
				out = append(out, field+": "+strings.Join(about, ", "))
			}
		}
	}
	return out
}

// clean makes a text of the host fit for an error: one line, bounded, without the token.
func (c *Client) clean(s string) string {
	if c.o.Secret != "" {
		s = strings.ReplaceAll(s, c.o.Secret, "***")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// Path joins the escaped parts of a path. A part with slashes is several; empty ones and
// dots, which would name another path, are left out.
func Path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		for one := range strings.SplitSeq(p, "/") {
			if one != "" && one != "." && one != ".." {
				b.WriteString("/" + url.PathEscape(one))
			}
		}
	}
	return b.String()
}

// HasNext reports whether a Link header (RFC 8288) names a next page.
func HasNext(h http.Header) bool {
	for _, line := range h.Values("Link") {
		for one := range strings.SplitSeq(line, ",") {
			if strings.Contains(strings.ReplaceAll(one, " ", ""), `;rel="next"`) {
				return true
			}
		}
	}
	return false
}
