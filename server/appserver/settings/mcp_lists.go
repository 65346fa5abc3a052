package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// The lists of MCP servers that OpenHands had (MCPConfig) before the map of names. The
// user, the flat fields and the V0 start request still have them.
const (
	sseList   = "sse_servers"
	stdioList = "stdio_servers"
	httpList  = "shttp_servers"
)

// urlServer is a server of a list of URLs; a text stands for its URL.
func urlServer(own ...schema.Field) schema.Type {
	o := &schema.Object{Fields: append([]schema.Field{
		{Name: "url", Type: schema.String{Min: 1, Max: 2048, Valid: webAddress}, Required: true},
		{Name: "api_key", Type: schema.Opt(schema.String{})},
	}, own...)}
	return schema.OneOf{{Name: "object", Of: o}, {Name: "str", Of: schema.String{Min: 1, Max: 2048, Valid: webAddress}}}
}

func webAddress(s string) error {
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return nil
	}
	return errors.New("URL must start with http:// or https://")
}

// mcpConfig describes servers in either form.
var mcpConfig = &schema.Object{Fields: []schema.Field{
	{Name: sseList, Type: schema.List{Of: urlServer()}, MayBeAbsent: true},
	{Name: stdioList, Type: schema.List{Of: &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: schema.String{Min: 1, Max: 128}, Required: true},
		{Name: "command", Type: schema.String{Min: 1}, Required: true},
		{Name: "args", Type: schema.List{Of: schema.String{}}, Default: []any{}},
		{Name: "env", Type: schema.Dict{Of: schema.String{}}, Default: func() any { return schema.NewMap() }},
	}}}, MayBeAbsent: true},
	{Name: httpList, Type: schema.List{Of: urlServer(schema.Field{Name: "timeout", Type: schema.Opt(schema.Number{})})}, MayBeAbsent: true},
	{Name: "mcpServers", Type: schema.Opt(schema.Dict{Of: schema.Any{}}), MayBeAbsent: true},
}}

// MCPServers are the servers of a config of either form, by name, for one conversation that
// has no others. loc is where a request has it.
func MCPServers(config *schema.Map, loc ...any) (*schema.Map, error) {
	checked, err := schema.Check(mcpConfig, config, schema.Reading{}, loc...)
	if err != nil {
		return nil, err
	}
	servers, err := replacedServers(checked.(*schema.Map))(schema.NewMap())
	if err != nil {
		return nil, err
	}
	all, err := schema.Check(spec.MCPServers, servers, schema.Reading{}, loc...)
	if err != nil {
		return nil, err
	}
	return all.(*schema.Map), nil
}

// transportOf returns the list that a server belongs to.
func transportOf(server *schema.Map) string {
	switch {
	case server.Text("command") != "":
		return stdioList
	case server.Text("transport") == "sse":
		return sseList
	}
	return httpList
}

// mcpLists are the MCP servers as lists. Servers that are switched off are not in them.
func (v view) mcpLists() (*schema.Map, error) {
	dumped, err := agentsettings.Dump(v.doc.Agent, schema.Writing{Mode: v.servers})
	if err != nil {
		return nil, err
	}
	lists := map[string][]any{sseList: {}, stdioList: {}, httpList: {}}
	all := dumped.Object("mcp_config")
	for _, name := range all.Keys() {
		server := all.Object(name)
		if server.Get("enabled") == false {
			continue
		}
		list := transportOf(server)
		one := schema.Of("url", server.Get("url"), "api_key", keyOf(server))
		switch list {
		case stdioList:
			args, _ := server.Get("args").([]any)
			one = schema.Of("name", name, "command", server.Get("command"), "args", append([]any{}, args...), "env", server.Object("env").Copy())
		case httpList:
			if timeout := server.Get("timeout"); timeout != nil {
				one.Set("timeout", timeout)
			}
		}
		lists[list] = append(lists[list], one)
	}
	return schema.Of(sseList, lists[sseList], stdioList, lists[stdioList], httpList, lists[httpList]), nil
}

// addresses are addresses of servers.
func addresses(servers *schema.Map) (all []string) {
	for _, name := range servers.Keys() {
		all = append(all, servers.Object(name).Text("url"))
	}
	return all
}

// keyOf returns the key of a server that is sent as a bearer token, nil for none.
func keyOf(server *schema.Map) any {
	if auth := server.Object("auth"); auth != nil {
		return auth.Get("value")
	}
	headers := server.Object("headers")
	for _, name := range headers.Keys() {
		if v, ok := headers.Get(name).(string); ok && strings.EqualFold(name, "Authorization") {
			return strings.TrimPrefix(v, "Bearer ")
		}
	}
	return nil
}

// replacedServers returns a change that replaces the MCP servers by a config's, nil for
// no config. Masked and missing secrets keep their stored values, and so do servers that
// are switched off, and lists that the config does not have.
func replacedServers(config *schema.Map) func(present *schema.Map) (*schema.Map, error) {
	if config == nil {
		return nil
	}
	return func(present *schema.Map) (*schema.Map, error) {
		if all := config.Object("mcpServers"); all != nil {
			return namedServers(all, present)
		}
		return listedServers(config, present)
	}
}

// namedServers are servers by name, with the stored secrets in place of masks.
func namedServers(all, present *schema.Map) (*schema.Map, error) {
	out := schema.NewMap()
	for _, name := range all.Keys() {
		server := all.Object(name)
		if server == nil {
			return nil, schema.Invalid("Input should be a valid dictionary", nil, "body", "mcp_config", "mcpServers", name)
		}
		merged := unmasked(server, present.Object(name))
		if _, err := spec.MCPSchema.Check(merged, schema.Reading{}, "body", "mcp_config", "mcpServers", name); err != nil {
			return nil, err
		}
		address := merged.Text("url")
		if address == "" && merged.Text("command") == "" {
			return nil, schema.Invalid("either 'command' or 'url' is required", nil, "body", "mcp_config", "mcpServers", name)
		}
		if address != "" {
			if err := webAddress(address); err != nil {
				return nil, schema.Invalid(err.Error(), nil, "body", "mcp_config", "mcpServers", name, "url")
			}
		}
		out.Set(name, merged)
	}
	return out, nil
}

// unmasked returns an object with the stored values in place of masks.
func unmasked(m, stored *schema.Map) *schema.Map {
	out := schema.NewMap()
	for _, key := range m.Keys() {
		switch v := m.Get(key).(type) {
		case *schema.Map:
			out.Set(key, unmasked(v, stored.Object(key)))
		case string:
			if v != schema.Mask {
				out.Set(key, v)
			} else if was, ok := stored.Lookup(key); ok {
				out.Set(key, was)
			}
		default:
			out.Set(key, v)
		}
	}
	return out
}

// listedServers are the servers of lists. A URL keeps the name and the further settings
// of the server that has it already.
func listedServers(config, present *schema.Map) (*schema.Map, error) {
	out := schema.NewMap()
	for _, name := range present.Keys() { // fields that the lists do not show
		server := present.Object(name)
		if _, sent := config.Lookup(transportOf(server)); !sent || server.Get("enabled") == false {
			out.Set(name, server)
		}
	}
	stdio, _ := config.Get(stdioList).([]any)
	for _, v := range stdio {
		one := v.(*schema.Map) // checked
		name := one.Text("name")
		server := schema.Of("transport", "stdio")
		if was := present.Object(name); was != nil && transportOf(was) == stdioList {
			server = was.Copy()
		}
		server.Set("command", one.Get("command"))
		server.Set("args", one.Get("args"))
		server.Set("env", unmasked(one.Object("env"), present.Object(name).Object("env")))
		if _, taken := out.Lookup(name); taken {
			return nil, schema.Invalid("Duplicate MCP server names are not allowed", nil, "body", "mcp_config", stdioList)
		}
		out.Set(name, server)
	}
	for _, list := range []string{sseList, httpList} {
		all, _ := config.Get(list).([]any)
		seen := map[string]bool{}
		for _, v := range all {
			one, ok := v.(*schema.Map)
			if !ok {
				one = schema.Of("url", v)
			}
			url := schema.Unmasked(one.Text("url"), addresses(present)...)
			if seen[url] {
				return nil, schema.Invalid("Duplicate MCP server URLs are not allowed", nil, "body", "mcp_config", list)
			}
			seen[url] = true
			name, server := knownServer(present, list, url)
			if server == nil {
				name = freeName(list, out, present)
				server = schema.Of("url", url, "transport", transports[list])
			}
			setKey(server, one.Get("api_key"))
			if timeout := one.Get("timeout"); timeout != nil {
				server.Set("timeout", timeout)
			}
			out.Set(name, server)
		}
	}
	return out, nil
}

var transports = map[string]string{sseList: "sse", httpList: "streamable-http"}

// knownServer returns a copy of the server of a list that has a URL, nil if there is
// none.
func knownServer(present *schema.Map, list, url string) (string, *schema.Map) {
	for _, name := range present.Keys() {
		if server := present.Object(name); server.Text("url") == url && transportOf(server) == list && server.Get("enabled") != false {
			return name, server.Copy()
		}
	}
	return "", nil
}

// freeName is a name that no server has, as OpenHands' SDK names servers of lists.
func freeName(list string, taken ...*schema.Map) string {
	prefix := map[string]string{sseList: "sse", httpList: "shttp"}[list]
	used := map[string]bool{}
	for _, m := range taken {
		maps.Insert(used, func(yield func(string, bool) bool) {
			for _, name := range m.Keys() {
				if !yield(name, true) {
					return
				}
			}
		})
	}
	for i := 0; ; i++ {
		if name := fmt.Sprintf("%s_%d", prefix, i); !used[name] {
			return name
		}
	}
}

// setKey changes the key of a server: "" removes it, null and a mask keep it.
func setKey(server *schema.Map, key any) {
	value, ok := key.(string)
	if !ok || value == schema.Mask {
		return
	}
	headers := server.Object("headers").Copy()
	for _, name := range slices.Clone(headers.Keys()) {
		if strings.EqualFold(name, "Authorization") {
			headers.Delete(name)
		}
	}
	server.Delete("headers")
	if headers.Len() > 0 {
		server.Set("headers", headers)
	}
	server.Delete("auth")
	if strings.TrimSpace(value) != "" {
		server.Set("auth", schema.Of("strategy", "bearer", "value", value))
	}
}
