package config

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
)

// check makes the checks that the tags of single settings cannot make, and reads
// the files with secrets.
func (l *loader) check() {
	if len(l.errs) > 0 {
		return // their consequences would only be noise
	}
	l.checkServer()
	l.checkAuth()
	l.checkDatabase()
	l.checkSandbox()
	l.checkLLM()
	c := l.config
	if u := c.Files.URL; u != "" {
		scheme, rest, ok := strings.Cut(u, "://")
		switch {
		case scheme == "azblob":
			l.bad("files.url", "must begin with file://, s3:// or gs://; Azure Blob Storage does not speak S3, and needs a proxy that does (such as S3Proxy), whose address is the endpoint of s3://")
		case !ok || !slices.Contains([]string{"file", "s3", "gs"}, scheme):
			l.bad("files.url", "must begin with file://, s3:// or gs://")
		case scheme == "file" && !filepath.IsAbs(rest):
			l.bad("files.url", "must have an absolute path after file://")
		case rest == "":
			l.bad("files.url", "names no bucket")
		}
	}
}

// bad refuses the value of a setting.
func (l *loader) bad(key, why string) {
	s, _ := setting(key)
	l.fail(wrong(s, l.from[key], why))
}

func (l *loader) checkServer() {
	c := &l.config.Server
	if _, port, err := net.SplitHostPort(c.Address); err != nil {
		l.bad("server.address", "must be HOST:PORT, for example 127.0.0.1:3000")
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		l.bad("server.address", "must have a port from 0 to 65535")
	}
	if c.PublicURL != "" {
		c.PublicURL = strings.TrimRight(c.PublicURL, "/")
		l.address("server.public_url", c.PublicURL)
		if u, err := url.Parse(c.PublicURL); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
			l.warn(l.from["server.public_url"].String() + ": over http:// everybody on the way can read sessions and keys: use https://, with a proxy or with server.tls_certificate")
		}
	}
	if c.ReplicaURL != "" {
		c.ReplicaURL = strings.TrimRight(c.ReplicaURL, "/")
		l.address("server.replica_url", c.ReplicaURL)
	}
	if c.AppsDomain != "" {
		c.AppsDomain = strings.ToLower(strings.Trim(c.AppsDomain, "."))
		u, err := url.Parse(c.PublicURL)
		switch {
		case !sandbox.ValidHostname(c.AppsDomain):
			l.bad("server.apps_domain", "must be the name of a domain")
		case err == nil && (u.Hostname() == c.AppsDomain || strings.HasSuffix(u.Hostname(), "."+c.AppsDomain)):
			l.bad("server.apps_domain", "must not have the server's own name, whose cookies its pages could set")
		}
	}
	for i, origin := range c.AllowedOrigins {
		c.AllowedOrigins[i] = strings.TrimRight(origin, "/")
		l.address("server.allowed_origins", c.AllowedOrigins[i])
		if u, err := url.Parse(c.AllowedOrigins[i]); err == nil && u.Path != "" {
			l.bad("server.allowed_origins", "must have no path after the host")
		}
	}
	if (c.TLSCertificate == "") != (c.TLSKey == "") {
		key := "server.tls_key"
		if c.TLSKey == "" {
			key = "server.tls_certificate"
		}
		l.bad(key, "needs the other: server.tls_certificate and server.tls_key belong together")
	}
}

// address checks that a setting is the address of a server, without credentials.
func (l *loader) address(key, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, ", "):
		l.bad(key, "must be a URL of http or https")
	case u.User != nil:
		l.bad(key, "must not have a user or a password")
	case u.RawQuery != "" || u.Fragment != "":
		l.bad(key, "must not have a query or a fragment")
	}
}

// alternatives keeps, of settings for the same thing, the ones of the last source that has
// one, and refuses two in one source.
func (l *loader) alternatives(keys ...string) (chosen string) {
	for _, key := range keys {
		if l.from[key].Kind == FromDefault {
			continue
		}
		switch {
		case chosen == "" || l.layer[key] > l.layer[chosen]:
			chosen = key
		case l.layer[key] == l.layer[chosen]:
			l.bad(key, "and "+chosen+" exclude each other")
		}
	}
	return chosen
}

// secretFile reads the secret in a file.
func (l *loader) secretFile(key, name string) llm.Secret {
	raw, err := textfile.Read(name)
	if err != nil {
		s, _ := setting(key)
		l.fail(wrong(s, l.from[key], "names a file that cannot be read").Because(err))
		return ""
	}
	text := strings.TrimSpace(string(raw))
	if text == "" || strings.ContainsAny(text, "\n\r\x00") || len(text) > 64<<10 {
		l.bad(key, "must name a file with one line")
	}
	return llm.Secret(text)
}

func (l *loader) checkDatabase() {
	c := &l.config.Database
	key := l.alternatives("database.url", "database.url_file")
	if key == "database.url_file" {
		c.URL = l.secretFile(key, c.URLFile)
	}
	if key == "" || len(l.errs) > 0 {
		return
	}
	u, err := url.Parse(c.URL.Reveal())
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		l.bad(key, "must be an address that begins with postgres://")
	}
}

func (l *loader) checkLLM() {
	c := &l.config.LLM
	switch l.alternatives("llm.api_key", "llm.api_key_env", "llm.api_key_file") {
	case "llm.api_key_env":
		if c.APIKey = llm.Secret(l.env(c.APIKeyEnv)); c.APIKey == "" {
			l.bad("llm.api_key_env", "takes the name of a variable, and there is none of that name")
		}
	case "llm.api_key_file":
		c.APIKey = l.secretFile("llm.api_key_file", c.APIKeyFile)
	}
	if c.BaseURL != "" {
		l.address("llm.base_url", c.BaseURL)
	}
}

// checkSandbox refuses limits that the class cannot keep, and warns of options
// without use for it.
func (l *loader) checkSandbox() {
	c := &l.config.Sandbox
	class, err := l.Classes.Find(c.Class)
	if err != nil {
		l.bad("sandbox.class", "must be one of "+strings.Join(l.Classes.Names(), ", "))
		return
	}
	for _, r := range []struct {
		feature sandbox.Feature
		refuse  bool // a missing limit would be missed; else it is a warning
		names   []string
	}{
		{sandbox.FeatureNetwork, true, []string{"net"}},
		{sandbox.FeatureLimits, true, []string{"memory", "pids", "cpus"}},
		{sandbox.FeatureDisk, true, []string{"disk"}},
		{sandbox.FeatureImage, false, []string{"image", "pull", "oci_runtime"}},
		{sandbox.FeatureMounts, false, []string{"mounts"}},
		{sandbox.FeatureGrants, false, []string{"read", "write"}},
	} {
		if !class.Has(r.feature) && r.refuse {
			l.limits(r.names...)
		} else {
			l.useless(!class.Has(r.feature), r.names...)
		}
	}
	l.useless(class.Needs == "", "runtime_api")
	l.useless(class.New == nil || class.Inside != "" || c.Grouping != "NO_GROUPING", "warm")
	if class.Needs != "" {
		l.checkAddress(class)
	}
	if class.New != nil && class.Warning != "" {
		l.warn(l.from["sandbox.class"].String() + ": sandbox.class " + class.Name + ": " + class.Warning)
	}
	rules := workspacedir.Rules{Home: l.env("HOME"), Data: []string{l.config.Data}}
	if c.Read, err = rules.Granted("sandbox.read", c.Read); err != nil {
		l.refused("sandbox.read", err)
	}
	if c.Write, err = rules.Granted("sandbox.write", c.Write); err != nil {
		l.refused("sandbox.write", err)
	}
	grant := func(dir string) (string, error) { return rules.Grant("sandbox.mounts", dir) }
	if c.Mounts, err = sandbox.GrantMounts(c.Mounts, grant); err != nil {
		l.refused("sandbox.mounts", err)
	}
}

func (l *loader) refused(key string, err error) {
	l.fail(fault.New(fault.Invalid, l.from[key].String()).Because(err).Hint(fault.HintOf(err)))
}

// limits refuses limits that were set and cannot be kept.
func (l *loader) limits(names ...string) {
	for _, name := range names {
		if key := "sandbox." + name; l.from[key].Kind != FromDefault {
			l.bad(key, "cannot be kept with sandbox.class "+l.config.Sandbox.Class)
		}
	}
}

// useless warns of settings that were set where they have no effect.
func (l *loader) useless(where bool, names ...string) {
	for _, name := range names {
		if key := "sandbox." + name; where && l.from[key].Kind != FromDefault {
			l.warn(l.from[key].String() + ": " + key + " has no effect with sandbox.class " + l.config.Sandbox.Class)
		}
	}
}

// checkAddress checks the address of the service that a class needs.
func (l *loader) checkAddress(class sandbox.Class) {
	c := &l.config.Sandbox
	if c.RuntimeAPI == "" {
		l.bad("sandbox.class", class.Name+" needs the address of "+class.Needs+" in sandbox.runtime_api")
		return
	}
	l.address("sandbox.runtime_api", c.RuntimeAPI)
	if l.from["sandbox.runtime_api_key_env"].Kind != FromDefault && l.env(c.RuntimeAPIKeyEnv) == "" {
		l.bad("sandbox.runtime_api_key_env", "takes the name of a variable, and there is none of that name")
	}
}
