package plugin

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// rootVariables are the names of the plugin's directory in its .mcp.json.
var rootVariables = []string{"${SKILL_ROOT}", "${CLAUDE_PLUGIN_ROOT}"}

// servers reads the MCP servers. Other ${NAME} in a .mcp.json are secrets of the
// conversation, which replace them when the server is connected.
func (p *Plugin) servers(root *os.Root, portable bool) {
	file := ".mcp.json"
	if portable {
		file = "mcp.json"
	}
	text, err := read(root, file, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		text = strings.TrimPrefix(text, "\uFEFF")
		if portable {
			p.Servers, err = p.portableServers(root, text)
		} else {
			p.Servers, err = spec.ReadMCPServers([]byte(p.rooted(text)))
		}
	}
	if err != nil {
		p.warn(p.at(file), err)
	}
}

// rooted puts the plugin's directory in the place of its names in a JSON text.
func (p *Plugin) rooted(text string) string {
	quoted, err := json.Marshal(p.Path)
	if err != nil {
		return text
	}
	for _, name := range rootVariables {
		text = strings.ReplaceAll(text, name, string(quoted[1:len(quoted)-1]))
	}
	return text
}

// reference matches a variable that the portable layout does not have, or whose directory
// there is not: as a text it would become a secret.
var reference = lazyregexp.New(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`)

// portableServers reads the mcp.json of the portable layout, whose servers may not name
// secrets. One that cannot be used is a warning.
func (p *Plugin) portableServers(root *os.Root, text string) (*schema.Map, error) {
	var doc struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an MCP configuration")
	}
	all := schema.NewMap()
	for name, raw := range doc.Servers {
		one, err := p.portableServer(root, name, raw)
		if err != nil {
			p.warn(p.at("mcp.json")+" "+name, err)
			continue
		}
		all.Set(name, one)
	}
	return all, nil
}

func (p *Plugin) portableServer(root *os.Root, name string, raw json.RawMessage) (*schema.Map, error) {
	quoted, err := json.Marshal(p.Path)
	if err != nil {
		return nil, err
	}
	filled := strings.ReplaceAll(string(raw), "${PLUGIN_ROOT}", string(quoted[1:len(quoted)-1]))
	if v := reference().FindString(filled); v != "" {
		return nil, fault.New(fault.Unsupported, "it uses "+v+", which this server does not give to a plugin")
	}
	servers, err := spec.ReadMCPServers([]byte(`{` + strconv.Quote(name) + `:` + filled + `}`))
	if err != nil {
		return nil, err
	}
	one := servers.Object(name)
	if one.Text("transport") == "" {
		return nil, fault.New(fault.Invalid, "it has no type")
	}
	if one.Text("command") == "" {
		return one, nil
	}
	for field, dir := range map[string]bool{"command": false, "cwd": true} {
		if err := p.contained(root, one, field, dir); err != nil {
			return nil, err
		}
	}
	env := schema.NewMap()
	if given := one.Object("env"); given != nil {
		env = given.Copy()
	}
	env.Set("PLUGIN_ROOT", p.Path)
	one.Set("env", env)
	return one, nil
}

// contained resolves the path of a field, which must be inside the plugin. A command may be
// a bare name, and the directory is the plugin's where none is named.
func (p *Plugin) contained(root *os.Root, server *schema.Map, field string, dir bool) error {
	at := strings.TrimPrefix(server.Text(field), p.Path+"/")
	switch {
	case dir && (at == "" || at == p.Path):
		server.Set(field, p.Path)
		return nil
	case !dir && !strings.Contains(at, "/"):
		return nil
	}
	at = path.Clean(at)
	if !filepath.IsLocal(filepath.FromSlash(at)) {
		return fault.New(fault.Denied, field+" leads out of the plugin")
	}
	if _, err := root.Stat(at); err != nil {
		return fault.Wrap(err, fault.Invalid, field)
	}
	server.Set(field, p.at(at))
	return nil
}
