package appserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// enclosed describes a request that a client encloses in another one, without its body.
var enclosed = &schema.Object{Name: "CloudProxyRequest", Fields: []schema.Field{
	{Name: "host", Type: schema.String{Min: 1, Max: 1000}, Required: true},
	{Name: "method", Type: schema.Enum{"GET", "POST", "PUT", "PATCH", "DELETE"}, Required: true},
	{Name: "path", Type: schema.String{Min: 1, Max: 8000}, Required: true},
	{Name: "headers", Type: schema.Dict{Of: schema.String{Max: 8000}}, Default: schema.NewMap()},
}}

// cloudProxy answers the request that is enclosed in the body of another one, if it is for
// the agent server of a sandbox of this server: OpenHands' page sends requests to
// sandboxes of the cloud to its own origin so. Nothing is sent anywhere, and the enclosed
// request has no authority but the session key that it carries. Before that key is known,
// only a short body is read; the enclosed body stays as it was sent.
func (f front) cloudProxy(w http.ResponseWriter, r *http.Request) error {
	var inner *http.Request
	var b store.Sandbox
	body, err := readEnclosed(r, func(m *schema.Map) (err error) {
		inner, b, err = f.open(r, m)
		return err
	})
	if err != nil {
		return err
	}
	if body != nil {
		next, err := http.NewRequestWithContext(r.Context(), inner.Method, "/", bytes.NewReader(body))
		if err != nil {
			return err
		}
		inner.Body, inner.ContentLength = next.Body, next.ContentLength
		inner.Header.Set("Content-Type", "application/json")
	}
	if !f.v.replicas.pass(w, inner, b.ID) {
		f.agentServer(w, inner, b)
	}
	return nil
}

// readEnclosed reads an object and returns its member "body" raw, nil for none: JSON, or
// the JSON that a text has. open is asked about the other members, before the body is read
// if they come first, and at the end.
func readEnclosed(r *http.Request, open func(m *schema.Map) error) (body []byte, err error) {
	in, m := json.NewDecoder(r.Body), schema.NewMap()
	if first, err := in.Token(); errors.Is(err, io.EOF) {
		return nil, schema.Missing("body")
	} else if err != nil {
		return nil, rest.BodyError(err)
	} else if first != json.Delim('{') {
		return nil, schema.Invalid("Input should be a valid dictionary", nil, "body")
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, rest.BodyError(err)
		}
		if key == "body" && open(m) == nil {
			rest.Trust(r)
		}
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return nil, rest.BodyError(err)
		}
		if key == "body" {
			body = raw
			continue
		}
		v, err := schema.Parse(raw)
		if err != nil {
			return nil, rest.BodyError(err)
		}
		m.Set(key.(string), v) // a key is a text
	}
	if _, err := in.Token(); err != nil {
		return nil, rest.BodyError(err)
	}
	if err := open(m); err != nil {
		return nil, err
	}
	var text string
	switch {
	case string(body) == "null":
		return nil, nil
	case json.Unmarshal(body, &text) == nil: // JSON that the client has encoded
		return []byte(text), nil
	}
	return body, nil
}

// open returns an enclosed request without its body, and the sandbox that its key opens.
func (f front) open(r *http.Request, doc *schema.Map) (*http.Request, store.Sandbox, error) {
	m, err := enclosed.Check(doc, schema.Reading{}, "body")
	if err != nil {
		return nil, store.Sandbox{}, err
	}
	if !f.isOwn(m.Text("host"), r) {
		return nil, store.Sandbox{}, fault.New(fault.Denied, "requests are passed on to the sandboxes of this server only")
	}
	target, err := url.ParseRequestURI(m.Text("path"))
	if err != nil || target.Host != "" || !strings.HasPrefix(target.Path, "/api/") {
		return nil, store.Sandbox{}, schema.Invalid("Input should be a path below /api", m.Text("path"), "body", "path")
	}
	inner := r.Clone(r.Context())
	inner.Method, inner.URL, inner.RequestURI, inner.Header = m.Text("method"), target, "", http.Header{}
	for _, name := range m.Object("headers").Keys() {
		if strings.EqualFold(name, rest.KeyHeader) || strings.EqualFold(name, "Content-Type") {
			inner.Header.Set(name, m.Object("headers").Text(name))
		}
	}
	inner.Body, inner.ContentLength = http.NoBody, 0
	b, found, err := f.sandboxOf(inner)
	if err == nil && !found {
		err = fault.New(fault.Auth, "the enclosed request has no session key of a sandbox")
	}
	return inner, b, err
}

// isOwn reports whether an address is this server's.
func (f front) isOwn(address string, r *http.Request) bool {
	named, err := url.Parse(address)
	if err != nil || named.Host == "" {
		return false
	}
	return slices.ContainsFunc([]string{f.v.o.baseURL(r), f.v.o.InternalURL}, func(own string) bool {
		u, err := url.Parse(own)
		return err == nil && strings.EqualFold(u.Host, named.Host)
	})
}
