// Package plugin reads plugins: directories with skills, commands, MCP servers and agents
// for an agent (docs/openhands/sdk-features.md section 5), in Claude Code's layout or the
// portable one, whose plugin.json names a schema.
//
// # Usage
//
//	p, err := plugin.Load(dir)
//	added, err := plugin.AddTo(agent, []plugin.Plugin{p})
//
// # Trust
//
// A plugin is hostile until its user trusts it. Nothing of it is run here, and links that
// lead out of it are refused.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A part that cannot be read is a warning of its
// plugin; a wrong manifest is fault.Invalid.
package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/subagent"
)

// Bounds of one plugin.
const (
	maxManifest = 256 << 10
	maxCommand  = 256 << 10
	maxCommands = 500
	maxFiles    = 2000 // that are listed
	maxWalked   = 50000
)

// Plugin is the content of a directory.
type Plugin struct {
	Name, Version, Description string
	Path                       string
	Manifest                   map[string]any // nil when the directory has none
	Skills                     []skill.Skill
	Commands                   []skill.Skill // a command is a skill with a keyword of its own
	Servers                    *schema.Map   // MCP servers by name, as spec.MCPServers has them; nil for none
	Agents                     []subagent.Definition
	Hooks                      *hook.Config // nil for none
	Warnings                   []skill.Warning
}

// extension is the directory in which the portable layout keeps the parts that
// only OpenHands knows.
const extension = "dev.openhands"

// Load reads a plugin. A directory without a manifest is one by the name of
// the directory, as in the reference. An error of kind fault.Invalid says that
// the manifest is wrong.
func Load(dir string) (Plugin, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Plugin{}, fault.Wrap(err, fault.Invalid, "not a plugin's directory")
	}
	defer root.Close()
	p := Plugin{Path: filepath.ToSlash(dir), Name: filepath.Base(dir), Version: "1.0.0"}
	portable, err := p.manifest(root)
	if err != nil {
		return Plugin{}, err
	}
	p.Skills, p.Warnings = skill.LoadPlugin(dir)
	own := "" // where the parts are that the portable layout does not have
	if portable {
		own = extension + "/"
	}
	p.commands(root, own+"commands")
	agents, failed := subagent.Plugin(root.FS(), own+"agents", p.at(own+"agents"))
	p.Agents, p.Warnings = agents, append(p.Warnings, failed...)
	p.hooks(root, own+"hooks/hooks.json")
	p.servers(root, portable)
	return p, nil
}

// at is the path of a part of the plugin.
func (p *Plugin) at(name string) string { return p.Path + "/" + name }

func (p *Plugin) warn(path string, err error) {
	p.Warnings = append(p.Warnings, skill.Warning{Path: path, Err: schema.Located(err)})
}

// hooks reads the plugin's hooks, in whose commands the names of its directory are replaced.
func (p *Plugin) hooks(root *os.Root, file string) {
	text, err := read(root, file, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var hooks *hook.Config
	if err == nil {
		hooks, err = hook.Parse([]byte(p.rooted(text)))
	}
	if err != nil {
		p.warn(p.at(file), err)
		return
	}
	p.Hooks = hook.Merge(hooks)
}

// manifest reads the plugin.json: at the root, if it names a schema, else the one
// of the older layout.
func (p *Plugin) manifest(root *os.Root) (portable bool, err error) {
	places := []string{"plugin.json", ".plugin/plugin.json", ".claude-plugin/plugin.json"}
	for i, name := range places {
		raw, err := read(root, name, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fault.Wrap(err, fault.Invalid, "read "+name)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(raw, "\uFEFF")), &fields); err != nil || fields == nil {
			return false, fault.New(fault.Invalid, name+" is not a JSON object")
		}
		_, portable := fields["$schema"]
		if i == 0 && !portable { // another program's
			if p.Manifest == nil {
				p.Manifest = fields
			}
			continue
		}
		p.Manifest = fields
		return i == 0, p.describe(name)
	}
	p.Description = "Plugin loaded from " + p.Name
	return false, nil
}

func (p *Plugin) describe(file string) error {
	name, ok := p.Manifest["name"].(string)
	if !ok {
		return fault.New(fault.Invalid, file+" gives no name")
	}
	p.Name = name
	for to, key := range map[*string]string{&p.Version: "version", &p.Description: "description"} {
		switch v := p.Manifest[key].(type) {
		case nil:
		case string:
			*to = v
		default:
			return fault.New(fault.Invalid, fmt.Sprintf("%s: %s must be a text", file, key))
		}
	}
	return nil
}

// read returns a regular file below the root.
func read(root *os.Root, name string, limit int64) (string, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		// A link into nowhere is not the same as no file.
		if _, there := root.Lstat(name); there == nil {
			return "", fault.New(fault.Denied, "the link leads nowhere")
		}
		return "", err
	case !info.Mode().IsRegular():
		return "", fault.New(fault.Invalid, "not a regular file")
	case info.Size() > limit:
		return "", fault.New(fault.Limit, fmt.Sprintf("longer than %d bytes", limit))
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit))
	return string(b), err
}

// commands makes a skill of each file of a directory: /plugin:command calls it
// up.
func (p *Plugin) commands(root *os.Root, dir string) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		if !strings.EqualFold(path.Ext(e.Name()), ".md") || strings.EqualFold(e.Name(), "readme.md") || len(p.Commands) == maxCommands {
			continue
		}
		at := dir + "/" + e.Name()
		text, err := read(root, at, maxCommand)
		if err == nil {
			var s skill.Skill
			if s, err = p.command(strings.TrimSuffix(e.Name(), path.Ext(e.Name())), at, text); err == nil {
				p.Commands = append(p.Commands, s)
				continue
			}
		}
		p.warn(p.at(at), err)
	}
}

func (p *Plugin) command(name, at, text string) (skill.Skill, error) {
	fields, body, err := skill.FrontMatter(text)
	if err != nil {
		return skill.Skill{}, err
	}
	field := func(keys ...string) string {
		for _, k := range keys {
			switch v := fields[k].(type) {
			case nil:
			case []any:
				var parts []string
				for _, one := range v {
					parts = append(parts, fmt.Sprint(one))
				}
				return strings.Join(parts, " ")
			default:
				return fmt.Sprint(v)
			}
		}
		return ""
	}
	description, hint := field("description"), field("argument-hint", "argumentHint")
	var parts []string
	if description != "" {
		parts = append(parts, "## "+name+"\n\n"+description+"\n")
	}
	if hint != "" {
		parts = append(parts, "**Arguments**: `$ARGUMENTS` - "+hint+"\n")
	}
	if body != "" {
		parts = append(parts, "\n"+body)
	}
	source, full := p.at(at), p.Name+":"+name
	description = cmp.Or(description, "Command "+name+" from "+p.Name)
	return skill.Skill{
		Name: full, Content: strings.TrimSpace(strings.Join(parts, "\n")), Description: &description,
		Trigger: &skill.Trigger{Type: skill.Keyword, Words: []string{"/" + full}}, Source: &source, Version: "1.0.0",
		AllowedTools: strings.Fields(field("allowed-tools", "allowedTools")),
	}, nil
}

// Files lists the files of the plugin by their relative names, without Git's.
// Links to directories are not followed.
func (p Plugin) Files() []string {
	files, walked := []string{}, 0
	root, err := os.OpenRoot(filepath.FromSlash(p.Path))
	if err != nil {
		return files
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if walked++; walked > maxWalked {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil //nolint:nilerr // a directory that cannot be read has no files to list
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if e.Type()&fs.ModeSymlink != 0 {
			if info, err := root.Stat(name); err == nil && info.IsDir() {
				return nil
			}
		}
		files = append(files, name)
		return nil
	})
	slices.Sort(files)
	return files[:min(len(files), maxFiles)]
}
