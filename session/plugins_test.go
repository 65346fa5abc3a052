package session_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/skill"
)

// TestPlugins gives the plugins of this machine's user to the user's conversations that want
// plugins, and to no others.
func TestPlugins(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	persistence := filepath.Join(home, ".openhands")
	testtree.Write(t, persistence, map[string]string{
		"plugins/one/plugin.json":                           `{"$schema":"s","name":"one"}`,
		"plugins/one/skills/stoats/SKILL.md":                "---\nname: stoats\ndescription: d\n---\nb",
		"plugins/one/dev.openhands/commands/go.md":          "go on",
		"plugins/broken/plugin.json":                        `{"$schema":`,
		"plugins/installed/two/.claude-plugin/plugin.json":  `{"name":"two"}`,
		"plugins/installed/two/commands/go.md":              "go on",
		"plugins/installed/off/.claude-plugin/plugin.json":  `{"name":"off"}`,
		"plugins/installed/off/commands/go.md":              "go on",
		"plugins/installed/.installed.json":                 `{"extensions":{"off":{"name":"off","enabled":false},"two":{"name":"two"}}}`,
		"plugins/installed/same/.claude-plugin/plugin.json": `{"name":"one"}`,
	})
	h := setup(t, nil, func(o *session.Options) { o.Plugins = plugin.NewCatalog(home, persistence, "") })
	for name, c := range map[string]struct {
		change func(*session.Spec)
		want   string
	}{
		"his":          {func(*session.Spec) {}, "stoats one:go two:go"},
		"not wanted":   {func(s *session.Spec) { s.NoPlugins = true }, ""},
		"named":        {func(s *session.Spec) { s.Plugins = []string{"two"} }, "stoats one:go"},
		"another user": {func(s *session.Spec) { s.Owner = identity.Tenant("somebody") }, ""},
	} {
		s := h.request(t, "")
		c.change(&s)
		conv, _, err := h.Create(t.Context(), s)
		must.Succeed(t, err)
		e, err := conv.Environment().Equipment(t.Context())
		must.Succeed(t, err)
		var names []string
		for _, one := range e.Skills {
			names = append(names, one.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: skills %s, want %s", name, got, c.want)
		}
		warned := slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.Contains(w, "plugins/broken: ") })
		if wanted := strings.Contains(c.want, "stoats"); warned != wanted {
			t.Errorf("%s: warnings %q", name, e.Warnings)
		}
	}
}

// TestAddPlugins adds a plugin to a conversation: not while it works, and with its parts after a restart.
func TestAddPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{
		"skills/stoats/SKILL.md": "---\nname: stoats\ndescription: d\n---\nb",
		"agents/a.md":            "---\nname: a\ndescription: d\nmcp_servers: {db: {command: db-server, env: {KEY: the-plugins-key}}}\n---\np",
	})
	p, err := plugin.Load(dir)
	must.Succeed(t, err)
	working, done := make(chan struct{}), make(chan struct{})
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) {
		close(working)
		<-done
		return says("done"), nil
	}, nil)
	c := h.begin(t, taskTools)
	send(t, c, "work")
	<-working
	if err := c.AddPlugins(t.Context(), []plugin.Plugin{p}); !errors.Is(err, session.ErrRunning) {
		t.Errorf("while it works: %v", err)
	}
	close(done)
	settle(t, c)
	must.Succeed(t, c.AddPlugins(t.Context(), []plugin.Plugin{p}))
	h.restart(t)
	e, err := h.get(t, c.ID()).Environment().Equipment(t.Context())
	must.Succeed(t, err)
	if !slices.ContainsFunc(e.Skills, func(s skill.Skill) bool { return s.Name == "stoats" }) {
		t.Errorf("skills %v", e.Skills)
	}
	info, err := h.stream.Info(t.Context(), c.ID())
	must.Succeed(t, err)
	if stored := string(info.Meta.Extra); !strings.Contains(stored, `"db"`) || strings.Contains(stored, "the-plugins-key") {
		t.Errorf("the servers of the plugin's agent are not stored, or their key is stored in the clear: %s", stored)
	}
}
