package registryhosts

import (
	"cmp"
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// golang reads GOPROXY and GOSUMDB, go.dev/ref/mod#environment-variables.
func (r *reader) golang() {
	values := map[string]string{}
	settings(r.file(cmp.Or(r.env("GOENV"), r.home(".config/go/env"))), func(k, v string) { values[k] = v })
	proxy := cmp.Or(r.env("GOPROXY"), values["GOPROXY"], "https://proxy.golang.org")
	for _, one := range strings.FieldsFunc(proxy, func(c rune) bool { return c == ',' || c == '|' }) {
		r.addURL(one) // others are "direct", "off" and files
	}
	sums := strings.Fields(cmp.Or(r.env("GOSUMDB"), values["GOSUMDB"], "sum.golang.org"))
	if len(sums) == 0 || sums[0] == "off" {
		return
	}
	if len(sums) < 2 || !r.addURL(sums[1]) {
		name, _, _ := strings.Cut(sums[0], "+")
		r.addURL("https://" + name)
	}
}

// npm reads the registries of all scopes, docs.npmjs.com/cli/configuring-npm/npmrc.
func (r *reader) npm() {
	found := false
	set := func(key, value string) {
		if strings.ToLower(key) == "registry" {
			found = r.addURL(value) || found
		} else if strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry") {
			r.addURL(value)
		}
	}
	set("registry", cmp.Or(r.env("npm_config_registry"), r.env("NPM_CONFIG_REGISTRY")))
	user := cmp.Or(r.env("npm_config_userconfig"), r.env("NPM_CONFIG_USERCONFIG"), r.home(".npmrc"))
	for _, path := range []string{user, r.system("/etc/npmrc")} {
		settings(r.file(path), set)
	}
	if !found {
		r.add("registry.npmjs.org")
	}
}

// pypi reads the indexes of pip and uv, pip.pypa.io/en/stable/topics/configuration.
func (r *reader) pypi() {
	found := false
	set := func(key, value string) {
		switch strings.ReplaceAll(key, "_", "-") {
		case "index-url":
			for one := range strings.FieldsSeq(value) {
				found = r.addURL(one) || found
			}
		case "extra-index-url", "find-links":
			for one := range strings.FieldsSeq(value) {
				r.addURL(one)
			}
		}
	}
	for _, name := range []string{"PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"} {
		set("index-url", r.env(name))
	}
	for _, name := range []string{"PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_EXTRA_INDEX_URL"} {
		set("extra-index-url", r.env(name))
	}
	for _, path := range []string{r.system("/etc/pip.conf"), r.home(".pip/pip.conf"), r.home(".config/pip/pip.conf"), r.env("PIP_CONFIG_FILE")} {
		settings(r.file(path), set)
	}
	if !found || slices.Contains(r.hosts, "pypi.org") {
		r.add("pypi.org", "files.pythonhosted.org")
	}
}

// cargo reads sources and registries, doc.rust-lang.org/cargo/reference/config.html.
func (r *reader) cargo() {
	type source struct {
		Registry    string `toml:"registry"`
		ReplaceWith string `toml:"replace-with"`
	}
	var doc struct {
		Source     map[string]source `toml:"source"`
		Registries map[string]struct {
			Index string `toml:"index"`
		} `toml:"registries"`
	}
	dir := cmp.Or(r.env("CARGO_HOME"), r.home(".cargo"))
	if dir != "" {
		path := filepath.Join(dir, "config.toml")
		text := r.file(path)
		if text == "" {
			path = filepath.Join(dir, "config")
			text = r.file(path)
		}
		if err := toml.Unmarshal([]byte(text), &doc); err != nil {
			r.fail(path, err)
		}
	}
	for _, s := range doc.Source {
		r.addURL(s.Registry)
	}
	for _, s := range doc.Registries {
		r.addURL(s.Index)
	}
	slices.Sort(r.hosts)
	if doc.Source["crates-io"].ReplaceWith == "" {
		r.add("index.crates.io", "static.crates.io", "crates.io")
	}
}

// maven reads mirrors and repositories, maven.apache.org/settings.html.
func (r *reader) maven() {
	type repository struct {
		URL      string `xml:"url"`
		MirrorOf string `xml:"mirrorOf"`
	}
	var doc struct {
		Mirrors      []repository `xml:"mirrors>mirror"`
		Repositories []repository `xml:"profiles>profile>repositories>repository"`
		Plugins      []repository `xml:"profiles>profile>pluginRepositories>pluginRepository"`
	}
	path := r.home(".m2/settings.xml")
	if text := r.file(path); text != "" {
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			r.fail(path, err)
		}
	}
	mirrored := false
	for _, m := range slices.Concat(doc.Mirrors, doc.Repositories, doc.Plugins) {
		if r.addURL(m.URL) {
			of := strings.Split(strings.ReplaceAll(m.MirrorOf, " ", ""), ",")
			mirrored = mirrored || slices.ContainsFunc(of, func(s string) bool { return s == "*" || s == "central" || s == "external:*" })
		}
	}
	if !mirrored {
		r.add("repo.maven.apache.org")
	}
}

// debian reads both forms of sources.list(5).
func (r *reader) debian() {
	paths := []string{r.system("/etc/apt/sources.list")}
	for _, pattern := range []string{"*.list", "*.sources"} {
		more, _ := filepath.Glob(filepath.Join(r.system("/etc/apt/sources.list.d"), pattern)) // the pattern is well formed
		paths = append(paths, more...)
	}
	for _, path := range paths {
		for line := range strings.Lines(r.file(path)) {
			line, _, _ = strings.Cut(line, "#")
			for word := range strings.FieldsSeq(line) {
				r.addURL(word)
			}
		}
	}
	if len(r.hosts) == 0 {
		r.add("deb.debian.org", "security.debian.org")
	}
}
