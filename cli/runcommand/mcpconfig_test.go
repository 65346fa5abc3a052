package runcommand

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/spec"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		text string
		want []string // names, with their transports
	}{
		"as others write it": {`{"mcpServers":{"a":{"command":"x","args":["y"]},"b":{"type":"http","url":"https://h"}}}`, []string{"a ", "b http"}},
		"bare":               {`{"a":{"command":"x"}}`, []string{"a "}},
		"none":               {`{"mcpServers":{}}`, nil},
		"no JSON":            {`nonsense`, []string{"invalid"}},
		"cut":                {`{"a":{"command":`, []string{"invalid"}},
		"a list":             {`[]`, []string{"invalid"}},
		"servers in a list":  {`{"mcpServers":[]}`, []string{"invalid"}},
		"unknown field":      {`{"a":{"command":"x","shell":true}}`, []string{"invalid"}},
		"no command":         {`{"a":{"type":"stdio"}}`, []string{"invalid"}},
	} {
		servers, err := ReadServers(write(t, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")), tt.text))
		var got []string
		for _, n := range servers.Keys() {
			got = append(got, n+" "+servers.Object(n).Text("transport"))
		}
		if fault.Is(err, fault.Invalid) {
			if fault.HintOf(err) == "" {
				t.Errorf("%s: no hint at %v", name, err)
			}
			got = []string{"invalid"}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := ReadServers(write(t, filepath.Join(dir, "empty-url"), `{"mcpServers":{"a":{"command":"x"},"void":{"url":""}}}`)); err == nil || !strings.Contains(err.Error(), "mcpServers.void.url: String should have at least 1 character") {
		t.Errorf("an empty address: %v", err)
	}
	if _, err := ReadServers(filepath.Join(dir, "missing")); !fault.Is(err, fault.Invalid) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadServers(write(t, filepath.Join(dir, "huge"), strings.Repeat(" ", maxConfig+1))); !fault.Is(err, fault.Invalid) {
		t.Errorf("a huge file: %v", err)
	}
}

// TestProject asks once for each content of a project's file, and never uses a
// file that the user has not allowed.
func TestProject(t *testing.T) {
	t.Parallel()
	dir, answers := t.TempDir(), permission.Open(t.TempDir(), nil)
	const one, two = `{"mcpServers":{"one":{"command":"x"}}}`, `{"mcpServers":{"two":{"command":"y"}}}`
	for _, step := range []struct {
		name, file  string
		unsandboxed bool
		again       bool
		answers     []string // nil for no terminal
		want        []string
		asked       int
		told        string
	}{
		{name: "no file", answers: []string{"y"}},
		{name: "no terminal", file: one, told: "--mcp-config .mcp.json"},
		{name: "allowed", file: one, answers: []string{"hm", "y"}, want: []string{"one"}, asked: 2, told: "start in the sandbox, with the rights of the agent's commands and the hosts of their \"network\"; addresses are asked from outside of it:\n    one: runs x\n"},
		{name: "remembered", file: one, want: []string{"one"}},
		{name: "allowed in the sandbox only", unsandboxed: true, file: one, told: "--mcp-config .mcp.json"},
		{name: "refused without a sandbox", unsandboxed: true, file: one, answers: []string{"n"}, asked: 1, told: "with your rights:"},
		{name: "allowed still", file: one, want: []string{"one"}},
		{name: "changed", file: two, told: "--mcp-config"},
		{name: "refused", file: two, answers: []string{"n"}, asked: 1},
		{name: "refused, remembered", file: two, answers: []string{"y"}, told: "as you have answered; --ask-mcp asks again"},
		{name: "asked again", file: two, again: true, answers: []string{"y"}, asked: 1, want: []string{"two"}},
		{name: "allowed now", file: two, want: []string{"two"}},
		{name: "refused again", file: two, again: true, answers: []string{"n"}, asked: 1},
		{name: "changed back", file: one, answers: []string{"n"}, asked: 1},
		{name: "broken", file: `{`, answers: []string{"y"}, told: "is not used"},
	} {
		if step.file != "" {
			write(t, filepath.Join(dir, ProjectConfig), step.file)
		}
		var told strings.Builder
		p := Project{Dir: dir, Answers: answers, Unsandboxed: step.unsandboxed, Again: step.again, Tell: func(s string) { told.WriteString(s + "\n") }}
		s := &script{answers: step.answers}
		if step.answers != nil {
			p.Prompter = s
		}
		servers, err := p.Servers(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, servers.Keys()); diff != "" || len(s.asked) != step.asked {
			t.Errorf("%s: asked %q, servers (-want +got):\n%s", step.name, s.asked, diff)
		}
		if !strings.Contains(told.String(), step.told) {
			t.Errorf("%s: told %q, want %q", step.name, told.String(), step.told)
		}
	}
}

// TestServersInWords describes servers to the user, and leaves out nothing that they say.
func TestServersInWords(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"command":"npx","args":["-y","a b"],"env":{"KEY":"v"},"network":["x.org","y.org"]}`: "runs npx -y 'a b', with the variables KEY=v, may reach x.org y.org",
		`{"url":"https://x.org/mcp","headers":{"A":"b"}}`:                                     "asks https://x.org/mcp, with the headers A=b",
		`{"command":"x","timeout":7}`:                                                         "runs x, timeout 7.0",
	} {
		servers, err := ParseServers([]byte(`{"mcpServers":{"one":` + file + `}}`))
		must.Succeed(t, err)
		if got, err := spec.DescribeMCPServer(servers.Object("one")); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
}

// TestHostileProject has files that are none.
func TestHostileProject(t *testing.T) {
	t.Parallel()
	secret := write(t, filepath.Join(t.TempDir(), "servers.json"), `{"mcpServers":{"one":{"command":"x"}}}`)
	for name, mk := range map[string]func(path string) error{
		"link":      func(p string) error { return os.Symlink(secret, p) },
		"pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		dir := t.TempDir()
		must.Succeed(t, mk(filepath.Join(dir, ProjectConfig)))
		s := &script{answers: []string{"y"}}
		servers, err := Project{Dir: dir, Answers: permission.Open(dir, nil), Prompter: s, Tell: func(string) {}}.Servers(t.Context())
		if err != nil || servers.Len() > 0 || len(s.asked) > 0 {
			t.Errorf("%s: %v, %v, asked %q", name, servers.Keys(), err, s.asked)
		}
	}
}
