package runcommand

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/subagent"
)

// SetUp reports whether the user allows the project's scripts for its set-up to run when a
// conversation begins. There may be none.
func (p Project) SetUp(ctx context.Context) (bool, error) {
	s, err := session.ReadScripts(p.read)
	if err != nil || s.File == "" {
		return false, err
	}
	return p.allows(ctx, s.Content, programs{
		file: s.File, what: "set-up commands", flag: "--set-up", again: "--ask-hooks",
		sandboxed: "They run in the sandbox when a conversation begins, with the rights of the agent's commands; pre-commit.sh at each commit, also at yours outside of it:",
		open:      "There is no sandbox, so they run with your rights:",
		show:      s.Lines,
	})
}

// Plugins returns the plugins of the project that run programs, if the user allows them. What
// else plugins of a project have needs no yes. They are used from a copy below copies, which
// the agent cannot change. A plugin of the user takes the place of a project's with the same name.
func (p Project) Plugins(ctx context.Context, copies string, users func() []plugin.Plugin) (allowed []plugin.Plugin, err error) {
	all, _ := plugin.Project(p.Dir) // mistakes are named by the conversation
	all = slices.DeleteFunc(all, func(one plugin.Plugin) bool { return len(one.Runs()) == 0 })
	if len(all) == 0 {
		return nil, nil
	}
	own := users()
	for _, one := range all {
		lines := one.Runs()
		if slices.ContainsFunc(own, func(o plugin.Plugin) bool { return o.Name == one.Name }) {
			continue // the conversation says so
		}
		where, err := filepath.Rel(p.Dir, one.Path)
		if err != nil {
			where = one.Path
		}
		sum, err := one.Sum()
		if err != nil {
			p.Tell("the project's plugin " + where + " is not used: " + safeText(err.Error()))
			continue
		}
		ok, err := p.allows(ctx, []byte(strings.Join(append(lines, hex.EncodeToString(sum[:])), "\n")), programs{
			file: where, what: "hooks and MCP servers", flag: "--plugin " + where, again: "--ask-hooks",
			sandboxed: "They start in the sandbox, with the rights of the agent's commands:",
			open:      "There is no sandbox, so they run with your rights:",
			show:      lines,
		})
		if err != nil {
			return nil, err
		}
		if ok {
			kept, err := one.Keep(copies, sum)
			if err != nil {
				return nil, err
			}
			allowed = append(allowed, kept)
		}
	}
	return allowed, nil
}

// Agents returns the hashes of the programs of the project's agents, if the user allows them. all are the agents
// that the conversation finds; only the project's need a yes.
func (p Project) Agents(ctx context.Context, all []subagent.Definition) (allowed []string, err error) {
	allowed = []string{}
	for _, d := range all {
		lines := d.Runs()
		if len(lines) == 0 || optional.Value(d.Level) != subagent.Project {
			continue
		}
		content, err := d.Programs()
		if err != nil {
			return nil, err
		}
		ok, err := p.allows(ctx, content, programs{
			file: d.File(p.Dir), what: "hooks and MCP servers", flag: "a yes in a terminal", again: "--ask-hooks",
			sandboxed: "They run with tasks for this agent, in the sandbox and with the rights of the agent's commands:",
			open:      "There is no sandbox, so they run with your rights:",
			show:      lines,
		})
		if err != nil {
			return nil, err
		}
		if ok {
			allowed = append(allowed, permission.Sum(content))
		}
	}
	return allowed, nil
}
