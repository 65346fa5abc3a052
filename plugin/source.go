package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/schema"
)

// MaxSources bounds the plugins of one conversation.
const MaxSources = 20

// Source is where a plugin comes from.
type Source struct {
	Source   string  `json:"source"`    // a directory, a Git URL, or github:owner/repo[/path]
	Ref      *string `json:"ref"`       // branch, tag or commit; nil for the default branch
	RepoPath *string `json:"repo_path"` // directory inside; nil for the root
}

// Loader brings the plugins of conversations to this machine.
type Loader struct {
	// Cache keeps the files of each commit, and of each state of a directory, once; "" where
	// agents cannot read this machine's files, which are read once then.
	Cache string
	// Local reports whether a caller may name directories of this machine; nil for none.
	Local func(ctx context.Context) bool
}

// Check describes the mistake in sources before they are fetched: Limit for too many, Denied for a directory of this machine that the caller may not name.
func (l Loader) Check(ctx context.Context, sources []Source) error {
	if len(sources) > MaxSources {
		return fault.New(fault.Limit, fmt.Sprintf("a conversation has %d plugins at most", MaxSources))
	}
	for _, from := range sources {
		if gitsource.Source(from).Local() && (l.Local == nil || !l.Local(ctx)) {
			return fault.New(fault.Denied, "this server loads plugins from repositories only, not from "+from.Source).
				Hint("name a repository: github:owner/repo or an https:// URL")
		}
	}
	return nil
}

// Load brings plugins here and loads them, in their order. It has the errors of
// [Loader.Check], and Invalid for a source that cannot be fetched or is no plugin.
func (l Loader) Load(ctx context.Context, sources []Source) ([]Plugin, error) {
	if err := l.Check(ctx, sources); err != nil || len(sources) == 0 {
		return nil, err
	}
	cache, done, err := l.place()
	if err != nil {
		return nil, err
	}
	defer done()
	all := make([]Plugin, len(sources))
	for i, from := range sources {
		dir, err := l.bring(ctx, from, cache)
		if err == nil {
			all[i], err = Load(dir)
		}
		if err != nil {
			return nil, unloaded(ctx, from, err)
		}
		if l.Cache == "" {
			all[i].Detach(strings.TrimSuffix(gitsource.Shown(from.Source), "/"))
		}
	}
	return all, nil
}

// place returns where sources are brought to, until done is called where nothing is kept.
func (l Loader) place() (dir string, done func(), err error) {
	if l.Cache != "" {
		return l.Cache, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "deft-plugins-")
	if err != nil {
		return "", nil, fmt.Errorf("fetch plugins: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

// bring returns the directory of a source in a place. It refuses one with a link that leads out.
func (l Loader) bring(ctx context.Context, from Source, place string) (dir string, err error) {
	dir, outward, err := l.bringSome(ctx, from, place)
	if err == nil {
		err = gitsource.Refuse(outward)
	}
	return dir, err
}

// bringSome does that for a source of several things, and names the links that lead out.
func (l Loader) bringSome(ctx context.Context, from Source, place string) (dir string, outward []string, err error) {
	dir, commit, outward, err := gitsource.KeepSome(ctx, gitsource.Source(from), place)
	if err == nil && commit == nil && l.Cache != "" {
		dir, outward, err = shownSome(dir, place)
	}
	return dir, outward, err
}

func unloaded(ctx context.Context, from Source, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reason := fault.New(fault.Invalid, fmt.Sprintf("the plugin %s cannot be loaded: %s", gitsource.Shown(from.Source), err))
	if errors.Is(err, gitsource.ErrFetch) {
		reason = reason.Hint("check its source, ref and repo_path, and that this server may reach and read it")
	}
	return reason
}

// Detach makes a plugin independent of its files, which the agent cannot read: paths begin
// with the source. A part that needs the files is a warning.
func (p *Plugin) Detach(source string) {
	for i := range p.Skills {
		if s := &p.Skills[i]; s.Resources != nil {
			s.Resources = nil
			p.warn("skill "+s.Name, errFiles)
		}
	}
	p.move(source, errFiles)
}

// move has paths begin with the source. Hooks and MCP servers that name files of the plugin are warnings: why says what is
// wrong with them.
func (p *Plugin) move(source string, why error) {
	moved := func(path string) string {
		if rest, ok := strings.CutPrefix(path, p.Path); ok {
			return source + rest
		}
		return path
	}
	for _, at := range p.sources() {
		if *at != nil {
			path := moved(**at)
			*at = &path
		}
	}
	for i := range p.Warnings {
		p.Warnings[i].Path = moved(p.Warnings[i].Path)
	}
	p.Hooks = p.Hooks.Without(func(h hook.Hook) bool {
		needs := strings.Contains(h.Command, p.Path)
		if needs {
			p.warn("hook "+strings.ReplaceAll(h.Command, p.Path, source), why)
		}
		return needs
	})
	kept := schema.NewMap()
	for _, name := range p.Servers.Keys() {
		if raw, err := schema.Encode(p.Servers.Get(name)); err != nil || strings.Contains(string(raw), p.Path) {
			p.warn("MCP server "+name, why)
			continue
		}
		kept.Set(name, p.Servers.Get(name))
	}
	p.Servers, p.Path = kept, source
}

var errFiles = errors.New("it needs files of the plugin, which are not in the sandbox")

// sources are the paths of the plugin's parts.
func (p *Plugin) sources() (all []**string) {
	for i := range p.Skills {
		all = append(all, &p.Skills[i].Source)
	}
	for i := range p.Commands {
		all = append(all, &p.Commands[i].Source)
	}
	for i := range p.Agents {
		all = append(all, &p.Agents[i].Source)
	}
	return all
}
