package runcommand

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
)

// TestUnusableProjectFiles tells of files of a project that cannot be used, and goes on without them.
func TestUnusableProjectFiles(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out.json")
	write(t, out, `{}`)
	for why, make := range map[string]func(string) error{
		"escapes":            func(path string) error { return os.Symlink(out, path) },
		"no such file":       func(path string) error { return os.Symlink("nowhere", path) },
		"not a regular file": func(path string) error { return os.Mkdir(path, 0o700) },
		"a regular file":     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"larger than 1 MiB":  func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{'x'}, 2<<20), 0o600) },
	} {
		dir := t.TempDir()
		must.Succeed(t, os.Mkdir(filepath.Join(dir, ".openhands"), 0o700))
		var told strings.Builder
		p := Project{Dir: dir, Answers: permission.Open(t.TempDir(), nil), Tell: func(s string) { told.WriteString(s + "\n") }}
		for _, name := range []string{hook.ProjectFile, ProjectConfig, session.SetUpScript} {
			must.Succeed(t, make(filepath.Join(dir, name)))
		}
		hooks, err := p.Hooks(t.Context())
		servers, err2 := p.Servers(t.Context())
		allowed, err3 := p.SetUp(t.Context())
		if err := errors.Join(err, err2, err3); err != nil || hooks != nil || servers.Len() > 0 || allowed {
			t.Errorf("%s: %+v, %v, %v, %v", why, hooks, servers.Keys(), allowed, err)
		}
		for _, name := range []string{hook.ProjectFile, ProjectConfig, session.SetUpScript} {
			if want := "the project's " + name + " is not used: "; !strings.Contains(told.String(), want) || strings.Count(told.String(), why) < 3 {
				t.Errorf("told %q, want %q with %q", told.String(), want, why)
			}
		}
	}
}

// TestProjectHooks asks about all that the hooks of a project do, and remembers the answer apart
// from the one about its MCP servers.
func TestProjectHooks(t *testing.T) {
	t.Parallel()
	dir, answers := t.TempDir(), permission.Open(t.TempDir(), nil)
	must.Succeed(t, os.Mkdir(filepath.Join(dir, ".openhands"), 0o700))
	write(t, filepath.Join(dir, ".openhands", "hooks.json"), `{"hooks":{
		"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"./check","timeout":5},{"type":"prompt","prompt":"be\u001b[31m nice"}]}],
		"Stop":[{"hooks":[{"command":"make test","async":true},{"type":"agent","tools":["terminal"],"system_prompt":"look twice"}]}]}}`)
	write(t, filepath.Join(dir, ProjectConfig), `{"mcpServers":{"one":{"command":"x"}}}`)
	for _, step := range []struct {
		answers []string
		used    bool
		told    []string
	}{
		{nil, false, []string{"hooks of the project's .openhands/hooks.json are not used; --hooks .openhands/hooks.json allows them"}},
		{[]string{"y"}, true, []string{
			"Commands run in the sandbox", "    PreToolUse of terminal: runs ./check, 5 s at most\n", "PreToolUse of terminal: asks the model: be", "nice, 60 s at most\n",
			"    Stop: runs make test (in the background), 60 s at most\n", "    Stop: starts an agent with terminal: look twice, 60 s at most\n",
		}},
		{nil, true, nil},
	} {
		var told strings.Builder
		p := Project{Dir: dir, Answers: answers, Tell: func(s string) { told.WriteString(s + "\n") }}
		if step.answers != nil {
			p.Prompter = &script{answers: step.answers}
		}
		hooks, err := p.Hooks(t.Context())
		if err != nil || (hooks != nil && hooks.Hooks != nil) != step.used {
			t.Fatalf("%+v: %v, %v", step, hooks, err)
		}
		for _, want := range step.told {
			if !strings.Contains(told.String(), want) {
				t.Errorf("told %q, want %q", told.String(), want)
			}
		}
		if strings.Contains(told.String(), "\x1b") {
			t.Errorf("told %q", told.String())
		}
	}
	p := Project{Dir: dir, Answers: answers, Tell: func(string) {}}
	if servers, err := p.Servers(t.Context()); servers.Len() > 0 || err != nil {
		t.Errorf("the yes to hooks allows MCP servers: %v, %v", servers.Keys(), err)
	}
	write(t, filepath.Join(dir, ".openhands", "hooks.json"), `{"Stop":[{"hooks":[{"command":"make all"}]}]}`)
	if hooks, err := p.Hooks(t.Context()); hooks != nil || err != nil {
		t.Errorf("another content is used: %+v, %v", hooks, err)
	}
	write(t, filepath.Join(dir, ".openhands", "hooks.json"), `{`)
	if hooks, err := p.Hooks(t.Context()); hooks != nil || err != nil {
		t.Errorf("a broken file: %+v, %v", hooks, err)
	}
}

// TestBrokenHooks says where the mistake is in a file of hooks.
func TestBrokenHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, ".openhands"), 0o700))
	file := write(t, filepath.Join(dir, ".openhands", "hooks.json"), `{"Stop":[{"hooks":null}]}`)
	const want = "hook_config.stop.0.hooks: Input should be a valid list"
	if _, err := ReadHooks(file); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	told := ""
	p := Project{Dir: dir, Answers: permission.Open(t.TempDir(), nil), Tell: func(s string) { told += s }}
	if hooks, err := p.Hooks(t.Context()); hooks != nil || err != nil || !strings.Contains(told, want) {
		t.Errorf("%v, %v, told %q", hooks, err, told)
	}
}

// TestForeignHooks says at once that hooks for Claude Code do not run.
func TestForeignHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, ".claude"), 0o700))
	file := filepath.Join(dir, ".claude", "settings.json")
	for content, want := range map[string]string{
		`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./check"}]}]}}`: "the project's .claude/settings.json: its hooks are written for Claude Code's tools and do not run",
		`{"permissions":{}}`: "", `{"hooks":{}}`: "", `{`: "",
	} {
		write(t, file, content)
		told := ""
		p := Project{Dir: dir, Answers: permission.Open(t.TempDir(), nil), Tell: func(s string) { told += s }}
		if hooks, err := p.Hooks(t.Context()); hooks != nil || err != nil || !strings.HasPrefix(told, want) || want == "" && told != "" {
			t.Errorf("%s: %v, %v, told %q", content, hooks, err, told)
		}
	}
}
