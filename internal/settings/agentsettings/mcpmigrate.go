package agentsettings

import (
	"strings"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// serverMap turns an MCP configuration of before version 5 into a map of
// servers with their authentication in one place.
func serverMap(c *s.Map) *s.Map {
	servers, drop := c.Object("mcpServers"), true
	if servers == nil {
		servers, drop = c, false
	}
	out := s.NewMap()
	for _, name := range servers.Keys() {
		one := servers.Object(name)
		if one == nil {
			out.Set(name, servers.Get(name))
			continue
		}
		one = gatherAuth(one.Copy())
		if kind := one.Get("type"); kind != nil {
			one.Delete("type")
			if one.Get("transport") == nil {
				one.Set("transport", kind)
			}
		}
		if one.Get("transport") == "shttp" {
			one.Set("transport", "http")
		}
		if drop {
			dropUnknown(one)
		}
		out.Set(name, moveLinear(one))
	}
	return out
}

func dropUnknown(m *s.Map) {
	known := s.NewMap()
	for _, f := range spec.MCPSchema.All() {
		if v, ok := m.Lookup(f.Name); ok {
			known.Set(f.Name, v)
		}
	}
	*m = *known
}

// moveLinear takes Linear's server where it is now; its SSE address is gone.
func moveLinear(m *s.Map) *s.Map {
	base, _, _ := strings.Cut(m.Text("url"), "?")
	if m.Get("transport") == "sse" && strings.TrimRight(base, "/") == "https://mcp.linear.app/sse" {
		m.Set("url", "https://mcp.linear.app/mcp")
		m.Delete("transport")
	}
	return m
}

// gatherAuth moves keys, tokens and Authorization headers into auth.
func gatherAuth(m *s.Map) *s.Map {
	method, tokens, key := m.Get("authentication"), m.Object("oauth_credentials"), m.Text("api_key")
	m.Delete("authentication")
	m.Delete("oauth_credentials")
	m.Delete("api_key")
	switch auth := m.Get("auth").(type) {
	case *s.Map:
		if auth.Text("strategy") == "oauth2" {
			auth = auth.Copy()
			if auth.Get("authentication") == nil && method != nil {
				auth.Set("authentication", method)
			}
			if c := auth.Object("credentials"); c != nil {
				tokens = c
			}
			auth.Delete("credentials")
			m.Set("auth", oauth(auth, tokens))
		}
		return m
	case string:
		if auth == "oauth" {
			one := s.Of("strategy", "oauth2")
			if method != nil {
				one.Set("authentication", method)
			}
			m.Set("auth", oauth(one, tokens))
			return m
		}
		if auth != "" {
			m.Set("auth", s.Of("strategy", "bearer", "value", auth))
			return m
		}
	}
	if key != "" {
		m.Set("auth", s.Of("strategy", "api_key", "value", key))
		return m
	}
	return authHeader(m)
}

func authHeader(m *s.Map) *s.Map {
	headers := m.Object("headers")
	for _, k := range headers.Keys() {
		v := headers.Text(k)
		if !strings.EqualFold(k, "authorization") || v == "" {
			continue
		}
		rest := headers.Copy()
		rest.Delete(k)
		if rest.Len() == 0 {
			m.Delete("headers")
		} else {
			m.Set("headers", rest)
		}
		if scheme, token, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "bearer") {
			m.Set("auth", s.Of("strategy", "bearer", "value", strings.TrimSpace(token)))
		} else {
			m.Set("auth", s.Of("strategy", "header", "headers", s.Of(k, v)))
		}
		return m
	}
	return m
}

// oauth completes an OAuth credential: the type of its method, and tokens that
// were kept as a cache of three collections.
func oauth(auth, cache *s.Map) *s.Map {
	if method := auth.Object("authentication"); method != nil && method.Get("type") == nil {
		method = method.Copy()
		method.Set("type", "oauth")
		auth.Set("authentication", method)
	}
	state := s.NewMap()
	if old := auth.Object("state"); old != nil {
		state = old.Copy()
	}
	for key, from := range map[string][2]string{
		"tokens": {"mcp-oauth-token", "/tokens"}, "client_info": {"mcp-oauth-client-info", "/client_info"},
	} {
		if v := cached(cache, from); v != nil && state.Get(key) == nil {
			state.Set(key, v)
		}
	}
	if v := cached(cache, [2]string{"mcp-oauth-token-expiry", "/token_expiry"}); v != nil && state.Get("token_expires_at") == nil {
		state.Set("token_expires_at", v.Get("expires_at"))
	}
	if state.Len() > 0 {
		auth.Set("state", state)
	}
	return auth
}

func cached(cache *s.Map, from [2]string) *s.Map {
	bucket := cache.Object(from[0])
	var first *s.Map
	for _, k := range bucket.Keys() {
		entry := bucket.Object(k)
		if v := entry.Object("value"); v != nil {
			entry = v
		}
		if strings.HasSuffix(k, from[1]) {
			return entry
		}
		if first == nil {
			first = entry
		}
	}
	return first
}
