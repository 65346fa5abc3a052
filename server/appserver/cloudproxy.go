package appserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// enclosed describes a request that a client encloses in another one.
var enclosed = &schema.Object{Name: "CloudProxyRequest", Fields: []schema.Field{
	{Name: "host", Type: schema.String{Min: 1, Max: 1000}, Required: true},
	{Name: "method", Type: schema.Enum{"GET", "POST", "PUT", "PATCH", "DELETE"}, Required: true},
	{Name: "path", Type: schema.String{Min: 1, Max: 8000}, Required: true},
	{Name: "headers", Type: schema.Dict{Of: schema.String{Max: 8000}}, Default: schema.NewMap()},
	{Name: "body", Type: schema.Any{}, Default: nil},
}}

// cloudProxy answers the request that is enclosed in the body of another one, if it is for
// the agent server of a sandbox of this server: OpenHands' page sends to its own origin so
// what it asks sandboxes of the cloud. Nothing is sent anywhere, and the enclosed request
// has no authority but the session key that it carries.
func (f front) cloudProxy(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, enclosed)
	if err != nil {
		return err
	}
	if !f.isOwn(m.Text("host"), r) {
		return fault.New(fault.Denied, "requests are passed on to the sandboxes of this server only")
	}
	target, err := url.ParseRequestURI(m.Text("path"))
	if err != nil || target.Host != "" || !strings.HasPrefix(target.Path, "/api/") {
		return schema.Invalid("Input should be a path below /api", m.Text("path"), "body", "path")
	}
	inner := r.Clone(r.Context())
	inner.Method, inner.URL, inner.RequestURI, inner.Header = m.Text("method"), target, "", http.Header{}
	for _, name := range m.Object("headers").Keys() {
		if strings.EqualFold(name, rest.KeyHeader) || strings.EqualFold(name, "Content-Type") {
			inner.Header.Set(name, m.Object("headers").Text(name))
		}
	}
	inner.Body, inner.ContentLength = http.NoBody, 0
	if body := m.Get("body"); body != nil {
		raw, isText := body.(string) // JSON that the client has encoded
		if !isText {
			encoded, err := schema.Encode(body)
			if err != nil {
				return err
			}
			raw = string(encoded)
		}
		next, err := http.NewRequestWithContext(r.Context(), inner.Method, "/", strings.NewReader(raw))
		if err != nil {
			return err
		}
		inner.Body, inner.ContentLength = next.Body, next.ContentLength
		inner.Header.Set("Content-Type", "application/json")
	}
	b, found, err := f.sandboxOf(inner)
	if err != nil {
		return err
	}
	if !found {
		return fault.New(fault.Auth, "the enclosed request has no session key of a sandbox")
	}
	if !f.v.replicas.pass(w, inner, b.ID) {
		f.agentServer(w, inner, b)
	}
	return nil
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
