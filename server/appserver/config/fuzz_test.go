package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/session/build"
)

// FuzzFile checks that any file is refused with an error of the kind Invalid or makes a
// configuration whose values, given as variables, make the same one.
func FuzzFile(f *testing.F) {
	f.Add([]byte(config.Example()))
	f.Add([]byte("[server]\naddress = \"a:1\"\ntrusted_proxies = [\"::1\"]\n[sandbox]\nclass = \"docker\"\nmemory = 1025\ncpus = 1.5\nenvironment = { A = \"b\" }\nnet = [\"a.example\", \"open\"]\n"))
	f.Add([]byte("[conversations]\nidle_timeout = \"1h0m3s\"\nmax_budget = 1e3\n[llm]\ntemperature = 0\n[log]\nlevel = \"debug\"\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		name := filepath.Join(dir, "deft.toml")
		must.Succeed(t, os.WriteFile(name, raw, 0o600))
		root := filepath.Join(dir, "root")
		_, report, err := config.Load(config.Sources{Classes: build.StandardClasses().Sandboxes, Root: root, DefaultData: "/d", Flags: config.Flags{Config: name}})
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		var environ []string
		data := ""
		for _, v := range report.Values {
			switch {
			case v.Source.Kind == config.FromDefault, v.Text == "", v.Setting.Secret, v.Setting.Key == "sandbox.environment":
			case v.Setting.Key == "data":
				data = v.Text
			default:
				environ = append(environ, v.Setting.Variable+"="+v.Text)
			}
		}
		_, again, err := config.Load(config.Sources{Classes: build.StandardClasses().Sandboxes, Root: root, DefaultData: "/d", Data: data, Environ: environ})
		if err != nil {
			t.Fatalf("%v of %q", err, environ)
		}
		for i, v := range report.Values {
			if got := again.Values[i].Text; got != v.Text && !v.Setting.Secret && v.Setting.Key != "sandbox.environment" {
				t.Errorf("%s is %q after %q", v.Setting.Key, got, v.Text)
			}
		}
	})
}
