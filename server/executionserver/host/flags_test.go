package host_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/executionserver/host"
)

// TestParse compares the small parser with the command line of deft, for what clients and
// session/build send.
func TestParse(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	must.Succeed(t, err)
	for name, c := range map[string]struct {
		args  []string
		wrong bool
		check func(host.Flags) bool
	}{
		"a conversation's": {
			args:  []string{"--workspace", "/w", "--grace", "1m0s", "--executor", "standard", "--mask", "TOKEN", "--mask", "NONE", "--ignore-signals", "--net=.a.org:443,open", "--mark", "x"},
			check: func(f host.Flags) bool { return f.Signals && f.Net == ".a.org:443,open" && len(f.Masked) == 2 },
		},
		"a program's, whose last values count": {
			args:  []string{"--workspace", "/w", "--grace", "1m0s", "--net=none", "--net=b.org", "--grace=10s", "--own-program", "--results", "/r"},
			check: func(f host.Flags) bool { return f.Grace == 10*time.Second && f.Net == "b.org" && f.Results == "/r" },
		},
		"OpenHands' runtime": {
			args: []string{"60000", "--working-dir", "/workspace", "--plugins", "agent_skills", "jupyter", "--username", "root", "--user-id", "0", "--no-enable-browser"},
			check: func(f host.Flags) bool {
				return f.Port == "60000" && len(f.Plugins) == 2 && !f.Browser && f.UserID == 0
			},
		},
		"lists and relative paths": {
			args:  []string{"1", "--working-dir=w", "--plugins=a,b", "--file-root", "x,/y", "--file-root", "z", "--host", "::1", "--browsergym-eval-env", "e"},
			check: func(f host.Flags) bool { return f.WorkingDir == filepath.Join(dir, "w") && len(f.FileRoot) == 3 },
		},
		"defaults": {
			check: func(f host.Flags) bool {
				return f.Grace == 10*time.Minute && f.Executor == standard.ClassName && f.UserID == -1 && f.Browser
			},
		},
		"an unknown flag":  {args: []string{"--workspace", "/w", "--other"}, wrong: true},
		"an argument more": {args: []string{"1", "2"}, wrong: true},
		"no duration":      {args: []string{"--grace", "soon"}, wrong: true},
		"no user":          {args: []string{"1", "--user-id", "me"}, wrong: true},
		"no value":         {args: []string{"1", "--working-dir"}, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := host.Parse(c.args)
			var large host.Flags
			parser, lerr := kong.New(&large)
			must.Succeed(t, lerr)
			_, lerr = parser.Parse(host.JoinPlugins(c.args))
			if c.wrong {
				if !fault.Is(err, fault.Invalid) || lerr == nil {
					t.Errorf("%v; deft says %v", err, lerr)
				}
				return
			}
			if err != nil || lerr != nil || !c.check(got) || !reflect.DeepEqual(got, large) {
				t.Errorf("%+v, %v;\ndeft reads %+v, %v", got, err, large, lerr)
			}
		})
	}
}

// TestFlagsOfBoth: each flag of deft's command line is one of the small parser's.
func TestFlagsOfBoth(t *testing.T) {
	t.Parallel()
	var large host.Flags
	parser, err := kong.New(&large)
	must.Succeed(t, err)
	for _, f := range parser.Model.Flags {
		if f.Name == "help" {
			continue
		}
		_, err := host.Parse([]string{"--" + f.Name + "="})
		if err != nil && strings.Contains(err.Error(), "not defined") {
			t.Errorf("--%s: %v", f.Name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"TOKEN": "secret"}[name] }
	for name, c := range map[string]struct {
		args []string
		kind fault.Kind
	}{
		"masked":                {args: []string{"--workspace", "/w", "--mask", "TOKEN", "--mask", "NONE"}},
		"a program as executor": {args: []string{"--workspace", "/w", "--mask", "TOKEN,NONE", "--executor", "exec:/none"}},
		"no workspace":          {args: []string{"--grace", "1m"}, kind: fault.Invalid},
		"a class linked in":     {args: []string{"--workspace", "/w", "--executor", "shout"}, kind: fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := host.Parse(c.args)
			must.Succeed(t, err)
			got, err := f.Config(standard.OwnClasses(), env, slog.New(slog.DiscardHandler))
			if c.kind != "" {
				if !fault.Is(err, c.kind) {
					t.Errorf("%v, want the kind %s", err, c.kind)
				}
				return
			}
			if err != nil || got.Workspace != "/w" || !reflect.DeepEqual(got.Masked, []string{"secret", ""}) {
				t.Fatalf("%+v, %v", got, err)
			}
			tools, err := got.Executors(standard.Config{Workspace: t.TempDir(), Scratch: t.TempDir()})
			if program := strings.Contains(name, "program"); program != (err != nil) || program && !strings.Contains(err.Error(), "start the executor program") {
				t.Error(err)
			}
			for _, x := range tools {
				must.Succeed(t, x.Close())
			}
		})
	}
}
