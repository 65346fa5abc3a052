package runcommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

// ProjectConfig is the file in which a project names its MCP servers.
const ProjectConfig = ".mcp.json"

// maxConfig bounds a file of MCP servers, hooks or an analyzer, in bytes.
const maxConfig = 1 << 20

// ReadServers reads MCP servers from files, by name; of two with one name, the
// later counts. The error is of kind Invalid.
func ReadServers(files ...string) (*schema.Map, error) {
	all := schema.NewMap()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the file of MCP servers cannot be read").Because(err).Hint("check --mcp-config")
		}
		raw, err := readConfig(f)
		if err != nil {
			return nil, inFile(err, "the MCP servers of "+file, "--mcp-config")
		}
		servers, err := ParseServers(raw)
		if err != nil {
			return nil, inFile(err, "the MCP servers of "+file, "--mcp-config")
		}
		for _, name := range servers.Keys() {
			all.Set(name, servers.Get(name))
		}
	}
	return all, nil
}

// inFile is an error about the content of a file that a flag names. There is always a next step.
func inFile(err error, what, flag string) error {
	return fault.New(fault.Invalid, what).Because(schema.Located(err)).
		Hint(cmp.Or(fault.HintOf(err), "correct the file, or name another one with "+flag))
}

func readConfig(f io.ReadCloser) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the file")
	}
	if len(raw) > maxConfig {
		return nil, fault.New(fault.Invalid, "the file is larger than 1 MiB")
	}
	return textfile.Decode(raw), nil
}

// ParseServers reads servers by name, bare or below the key "mcpServers" as
// other programs write them. "type" is read as transport.
func ParseServers(raw []byte) (*schema.Map, error) {
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*schema.Map)
	if inner, ok := m.Lookup("mcpServers"); ok {
		m, _ = inner.(*schema.Map)
	}
	if m == nil {
		return nil, fault.New(fault.Invalid, `it is not an object of servers`).
			Hint(`write {"mcpServers": {"NAME": {"command": "PROGRAM", "args": []}}}`)
	}
	out := schema.NewMap()
	for _, name := range m.Keys() {
		one := m.Object(name)
		if t, ok := one.Lookup("type"); ok {
			one = one.Copy()
			one.Delete("type")
			if _, given := one.Lookup("transport"); !given {
				one.Set("transport", t)
			}
			out.Set(name, one)
			continue
		}
		out.Set(name, m.Get(name))
	}
	checked, err := schema.Check(spec.MCPServers, out, schema.Reading{}, "mcpServers")
	if err != nil {
		return nil, schema.Located(err)
	}
	out, _ = checked.(*schema.Map)
	for _, name := range out.Keys() {
		hosts, _ := out.Object(name).Get("network").([]any)
		for _, host := range hosts {
			text, _ := host.(string)
			if _, err := sandbox.ParseNetwork(text); err != nil {
				return nil, fmt.Errorf("the network of %s: %w", name, err)
			}
		}
	}
	return out, nil
}

// Servers returns the MCP servers of the project's file and of its microagents, if the user
// allows them.
func (p Project) Servers(ctx context.Context) (*schema.Map, error) {
	all, err := p.configured(ctx)
	if err != nil {
		return nil, err
	}
	more, err := p.ofMicroagents(ctx)
	if err != nil || more.Len() == 0 {
		return all, err
	}
	for _, name := range all.Keys() {
		more.Set(name, all.Get(name))
	}
	return more, nil
}

// ofMicroagents are the MCP servers of microagents that are always there (mcp_tools).
func (p Project) ofMicroagents(ctx context.Context) (*schema.Map, error) {
	all := schema.NewMap()
	found, _ := skill.LoadProject(p.Dir) // mistakes are named by the conversation
	for _, s := range found {
		if !s.Always() || len(s.MCPTools) == 0 {
			continue
		}
		servers, err := spec.ReadMCPTools(s.MCPTools)
		if err != nil || servers.Len() == 0 {
			continue
		}
		file := filepath.Base(*s.Source)
		if rel, err := filepath.Rel(p.Dir, *s.Source); err == nil {
			file = rel
		}
		ok, err := p.allowsServers(ctx, s.MCPTools, servers, file, "writing them to "+ProjectConfig+" and --mcp-config "+ProjectConfig)
		if err != nil {
			return nil, err
		}
		for _, name := range servers.Keys() {
			if ok && all.Get(name) == nil {
				all.Set(name, servers.Get(name))
			}
		}
	}
	return all, nil
}

// configured are the MCP servers of the project's file.
func (p Project) configured(ctx context.Context) (*schema.Map, error) {
	raw, err := p.read(ProjectConfig)
	if raw == nil || err != nil {
		return nil, err
	}
	servers, err := ParseServers(raw)
	if err != nil {
		p.Tell("the project's " + ProjectConfig + " is not used: " + safeText(err.Error()))
		return nil, nil
	}
	ok, err := p.allowsServers(ctx, raw, servers, ProjectConfig, "--mcp-config "+ProjectConfig)
	if err != nil || !ok {
		return nil, err
	}
	return servers, nil
}

// allowsServers asks about the MCP servers of a file.
func (p Project) allowsServers(ctx context.Context, raw []byte, servers *schema.Map, file, flag string) (bool, error) {
	var show []string
	for _, name := range servers.Keys() {
		text, err := spec.DescribeMCPServer(servers.Object(name))
		if err != nil {
			return false, err
		}
		show = append(show, name+": "+text)
	}
	return p.allows(ctx, raw, programs{
		file: file, what: "MCP servers", flag: flag, again: "--ask-mcp",
		sandboxed: "Programs start in the sandbox, with the rights of the agent's commands and the hosts of their \"network\"; addresses are asked from outside of it:",
		open:      "There is no sandbox, so programs run with your rights:",
		show:      show,
	})
}
