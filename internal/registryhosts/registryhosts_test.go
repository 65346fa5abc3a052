package registryhosts_test

import (
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/internal/testtree"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list, want string
		env, files map[string]string
	}{
		"hosts only":     {list: "open,.corp:443", want: "open,.corp:443"},
		"public go":      {list: "example.com, Go", want: "example.com,proxy.golang.org,sum.golang.org"},
		"go by variable": {list: "go", want: "proxy.corp:8443,other.corp,sum.golang.org", env: map[string]string{"GOPROXY": "https://user:key@proxy.corp:8443/go|https://other.corp,direct"}},
		"go by file":     {list: "go", want: "proxy.corp", files: map[string]string{"home/.config/go/env": "GOPROXY=https://proxy.corp\nGOSUMDB=off\n"}},
		"go sums":        {list: "go", want: "proxy.golang.org,sums.corp", env: map[string]string{"GOSUMDB": "sum.golang.org https://sums.corp/x"}},
		"public npm":     {list: "npm", want: "registry.npmjs.org", files: map[string]string{"home/.npmrc": "fund=false\nregistry=${REGISTRY}\n"}},
		"npm":            {list: "npm", want: "npm.corp,scope.corp:99", files: map[string]string{"home/.npmrc": "; x\nregistry = https://npm.corp/\n@own:registry=http://scope.corp:99\n//npm.corp/:_authToken=x\n"}},
		"npm by a scope": {list: "npm", want: "scope.corp,registry.npmjs.org", files: map[string]string{"home/.npmrc": "@own:registry=https://scope.corp"}},
		"public pypi":    {list: "pypi", want: "pypi.org,files.pythonhosted.org", files: map[string]string{"etc/pip.conf": "[global]\ncert = /x\n"}},
		"pypi":           {list: "pypi", want: "pip.corp,a.corp,b.corp", files: map[string]string{"home/.config/pip/pip.conf": "[global]\nindex-url = https://u:p@pip.corp/simple?x=1\nextra-index-url =\n  https://a.corp/simple\n  https://b.corp/simple\n"}},
		"public cargo":   {list: "cargo", want: "index.crates.io,static.crates.io,crates.io"},
		"cargo":          {list: "cargo", want: "crates.corp,own.corp", files: map[string]string{"home/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://crates.corp/\"\n[registries.own]\nindex = \"https://own.corp/git\"\n"}},
		"public maven":   {list: "maven", want: "repo.maven.apache.org"},
		"maven": {list: "maven", want: "mvn.corp", files: map[string]string{
			"home/.m2/settings.xml": `<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors><mirror><id>a</id><mirrorOf>external:*,!b</mirrorOf><url>https://mvn.corp/x</url></mirror></mirrors></settings>`,
		}},
		"public debian": {list: "debian", want: "deb.debian.org,security.debian.org"},
		"debian": {list: "debian", want: "a.corp,b.corp", files: map[string]string{
			"etc/apt/sources.list":             "# deb http://no.corp x\ndeb [signed-by=/x] http://a.corp/debian stable main\n",
			"etc/apt/sources.list.d/b.sources": "Types: deb\nURIs: https://b.corp/debian\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := source(t, c.env, c.files)
			if got, err := registryhosts.Expand(c.list, s); err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestExpandDamaged(t *testing.T) {
	t.Parallel()
	for preset, file := range map[string]string{"cargo": "home/.cargo/config.toml", "maven": "home/.m2/settings.xml"} {
		s := source(t, nil, map[string]string{file: "[<damaged"})
		if got, err := registryhosts.Expand(preset, s); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %q, %v", preset, got, err)
		}
	}
}

// source makes a machine with these variables and files.
func source(t *testing.T, env, files map[string]string) registryhosts.Source {
	t.Helper()
	root := t.TempDir()
	testtree.Write(t, root, files)
	return registryhosts.Source{Root: root, Env: func(name string) string {
		if name == "HOME" {
			return filepath.Join(root, "home")
		}
		return env[name]
	}}
}
