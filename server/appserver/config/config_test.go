package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/session/build"
)

// machine is a root directory with files, and a home in it.
type machine struct {
	root string
	config.Sources
}

func newMachine(t *testing.T, files map[string]string, environ ...string) *machine {
	t.Helper()
	m := &machine{root: t.TempDir()}
	home := filepath.Join(m.root, "home", "u")
	testtree.Write(t, m.root, files)
	m.Sources = config.Sources{Classes: build.StandardClasses().Sandboxes, Root: m.root, DefaultData: filepath.Join(home, "data"), Environ: append([]string{"HOME=" + home}, environ...)}
	return m
}

const (
	machineFile = "etc/deft/deft.toml"
	userFile    = "home/u/.config/deft/deft.toml"
)

func (m *machine) load(t *testing.T) (*config.Config, map[string]string, *config.Report) {
	t.Helper()
	c, report, err := config.Load(m.Sources)
	must.Succeed(t, err)
	from := map[string]string{}
	for _, v := range report.Values {
		if v.Source.Kind != config.FromDefault {
			from[v.Setting.Key] = v.Text + " <- " + strings.TrimPrefix(v.Source.String(), m.root+"/")
		}
	}
	return c, from, report
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	c, from, report := m.load(t)
	if len(from) > 0 || len(report.Warnings) > 0 || len(report.Files) > 0 {
		t.Errorf("%v %v %v", from, report.Warnings, report.Files)
	}
	if c.Server.Address != "127.0.0.1:3000" || c.Sandbox.Class != "process" || c.Conversations.IdleTimeout != 20*time.Minute ||
		c.Data != m.DefaultData || c.Database.PostgreSQL() || c.Log.Level != "info" || c.Conversations.MaxIterations != 500 || c.Sandbox.Net != sandbox.NetworkNone {
		t.Errorf("%+v", c)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{
		machineFile: "[server]\naddress = \"0.0.0.0:1\"\npublic_url = \"https://a.example/\"\n[log]\nlevel = \"warn\"\n[conversations]\nmax_per_user = 1\n[sandbox]\nmemory = \"2G\"\n",
		userFile:    "[log]\nlevel = \"debug\"\n[conversations]\nmax_per_user = 2\n[sandbox]\nmemory = 1073741824\npids = 7\n",
		"own.toml":  "conversations.max_per_user = 3\nsandbox = { pids = 8, cpus = 1.5, environment = { A = \"1\" } }\n[sandbox.environment]\n",
	}, "DEFT_SANDBOX_PIDS=9", "DEFT_SANDBOX_CPUS=2", "DEFT_LOG_FORMAT=", "LLM_MODEL=openai/gpt-5", "LLM_API_KEY=sk-secret", "DEFT_DATA=/d")
	m.Flags.Config = filepath.Join(m.root, "own.toml")
	m.Flags.CPUs = new("3")
	m.Flags.TrustedProxy = []string{"10.0.0.0/8", "::1"}
	m.Data = "/d"
	if _, _, err := config.Load(m.Sources); err == nil || !strings.Contains(err.Error(), "own.toml:") {
		t.Fatal("a table given twice:", err)
	}
	must.Succeed(t, os.WriteFile(m.Flags.Config, []byte("conversations.max_per_user = 3\nsandbox = { pids = 8, cpus = 1.5, environment = { A = \"1\" } }\n"), 0o600))
	c, from, report := m.load(t)
	want := map[string]string{
		"data":                       "/d <- DEFT_DATA",
		"server.address":             "0.0.0.0:1 <- etc/deft/deft.toml:2",
		"server.public_url":          "https://a.example <- etc/deft/deft.toml:3",
		"server.trusted_proxies":     "10.0.0.0/8,::1/128 <- --trusted-proxy",
		"log.level":                  "debug <- home/u/.config/deft/deft.toml:2",
		"conversations.max_per_user": "3 <- own.toml:1",
		"sandbox.memory":             "1G <- home/u/.config/deft/deft.toml:6",
		"sandbox.environment":        "A=[set] <- own.toml:2",
		"sandbox.pids":               "9 <- DEFT_SANDBOX_PIDS",
		"sandbox.cpus":               "3 <- --cpus",
		"llm.model":                  "openai/gpt-5 <- LLM_MODEL",
		"llm.api_key":                "[set] <- LLM_API_KEY",
	}
	if d := cmp.Diff(want, from); d != "" {
		t.Error("(-want +got)\n", d)
	}
	if c.Sandbox.CPUs != 3 || c.Sandbox.Limits().MemoryBytes != 1<<30 || c.LLM.APIKey.Reveal() != "sk-secret" ||
		c.Sandbox.Environment["A"] != "1" || c.Server.TrustedProxies[1] != netip.MustParsePrefix("::1/128") {
		t.Errorf("%+v", c)
	}
	if len(report.Files) != 3 {
		t.Error(report.Files)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file    string
		environ []string
		flags   config.Flags
		want    string // in the error; of the file, the part after its name
	}{
		"unknown key":        {file: "[server]\naddresss = \"x\"\n", want: ":2: there is no setting server.addresss; did you mean server.address?"},
		"unknown section":    {file: "\n[sever]\naddress = \"x\"\n", want: ":2: there is no setting [sever]; did you mean server?"},
		"unknown dotted":     {file: "sandboxx.image = \"x\"\n", want: ":1: there is no setting sandboxx.image; did you mean sandbox.image?"},
		"wrong type":         {file: "[server]\naddress = 1\n", want: ":2: server.address must be a text"},
		"number":             {file: "[sandbox]\npids = \"sk-secret\"\n", want: ":2: sandbox.pids must be a number"},
		"below the least":    {file: "[sandbox]\npids = -2\n", want: ":2: sandbox.pids must be at least -1"},
		"whole":              {file: "[sandbox]\npids = 1.5\n", want: ":2: sandbox.pids must be a whole number"},
		"duration":           {file: "[conversations]\nidle_timeout = 20\n", want: ":2: conversations.idle_timeout must be a duration"},
		"negative duration":  {file: "[conversations]\nidle_timeout = \"-1s\"\n", want: ":2: conversations.idle_timeout must be at least 0"},
		"one of":             {file: "[log]\nlevel = \"loud\"\n", want: ":2: log.level must be one of debug, info, warn, error"},
		"list":               {file: "[server]\nallowed_origins = \"https://a\"\n", want: ":2: server.allowed_origins must be a list"},
		"list of numbers":    {file: "[server]\nallowed_origins = [1]\n", want: ":2: server.allowed_origins must be a list"},
		"origin":             {file: "[server]\nallowed_origins = [\"https://a/b\"]\n", want: ":2: server.allowed_origins must have no path"},
		"environment":        {file: "[sandbox.environment]\nA = 1\n", want: ":2: sandbox.environment must be a table"},
		"environment's name": {file: "[sandbox.environment]\n\"A B\" = \"1\"\n", want: ":2: sandbox.environment needs names"},
		"syntax":             {file: "[server]\naddress = 127.0.0.1:3000\n", want: ":2 is not valid TOML"},
		"size":               {environ: []string{"DEFT_SANDBOX_MEMORY=much"}, want: "DEFT_SANDBOX_MEMORY: sandbox.memory: not a size"},
		"network":            {environ: []string{"DEFT_SANDBOX_NET=a b"}, want: "DEFT_SANDBOX_NET: sandbox.net"},
		"mount":              {environ: []string{"DEFT_SANDBOX_MOUNTS=/a"}, want: "DEFT_SANDBOX_MOUNTS: sandbox.mounts: not a mount"},
		"line break":         {environ: []string{"DEFT_SERVER_ADDRESS=a\nb"}, want: "DEFT_SERVER_ADDRESS: server.address must not have control"},
		"address":            {flags: config.Flags{Address: new("3000")}, want: "--address: server.address must be HOST:PORT"},
		"port":               {flags: config.Flags{Address: new("a:70000")}, want: "--address: server.address must have a port"},
		"proxy":              {flags: config.Flags{TrustedProxy: []string{"x"}}, want: "--trusted-proxy: server.trusted_proxies"},
		"public URL":         {flags: config.Flags{PublicURL: new("ftp://a")}, want: "--public-url: server.public_url must be a URL"},
		"URL with password":  {flags: config.Flags{PublicURL: new("http://u:sk-secret@a")}, want: "must not have a user or a password"},
		"certificate alone":  {flags: config.Flags{TLSCert: new("/c")}, want: "--tls-cert: server.tls_certificate needs the other"},
		"class":              {flags: config.Flags{Sandbox: new("dokcer")}, want: "--sandbox: sandbox.class must be one of"},
		"limit without":      {flags: config.Flags{Sandbox: new("none"), Memory: new("1G")}, want: "--memory: sandbox.memory cannot be kept"},
		"net without":        {flags: config.Flags{Sandbox: new("remote"), RuntimeAPI: new("http://a"), Net: "open"}, want: "--net: sandbox.net cannot be kept"},
		"remote":             {flags: config.Flags{Sandbox: new("remote")}, want: "needs the address of a Runtime API"},
		"remote's key":       {flags: config.Flags{Sandbox: new("remote"), RuntimeAPI: new("http://a"), RuntimeKeyEnv: new("sk-secret")}, want: "--runtime-api-key-env: sandbox.runtime_api_key_env takes the name"},
		"system directory":   {flags: config.Flags{Read: []string{"/etc"}}, want: "--read: the directory of sandbox.read cannot be"},
		"database":           {environ: []string{"DEFT_DATABASE_URL=mysql://u:sk-secret@h/d"}, want: "DEFT_DATABASE_URL: database.url must be an address that begins with postgres://"},
		"database's file":    {flags: config.Flags{DatabaseFile: new("/nothing/here")}, want: "--database-url-file: database.url_file names a file that cannot be read"},
		"two databases":      {file: "[database]\nurl = \"postgres://h/d\"\nurl_file = \"/x\"\n", want: ":3: database.url_file and database.url exclude each other"},
		"two keys":           {file: "[llm]\napi_key = \"k\"\napi_key_env = \"HOME\"\n", want: ":3: llm.api_key_env and llm.api_key exclude each other"},
		"the key's variable": {file: "[llm]\napi_key_env = \"NOT_SET\"\n", want: ":2: llm.api_key_env takes the name of a variable"},
		"bucket":             {flags: config.Flags{FilesURL: new("ftp://x")}, want: "--files-url: files.url must begin with"},
		"Google's bucket":    {flags: config.Flags{FilesURL: new("gs://")}, want: "names no bucket"},
		"Azure's container":  {flags: config.Flags{FilesURL: new("azblob://x")}, want: "needs a proxy"},
		"relative directory": {flags: config.Flags{FilesURL: new("file://x")}, want: "--files-url: files.url must have an absolute path"},
		"no file":            {flags: config.Flags{Config: "/nothing/deft.toml"}, want: "the configuration file /nothing/deft.toml does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, map[string]string{machineFile: c.file}, c.environ...)
			m.Flags = c.flags
			_, _, err := config.Load(m.Sources)
			if err == nil {
				t.Fatal("no error")
			}
			want := c.want
			if strings.HasPrefix(want, ":") {
				want = filepath.Join(m.root, machineFile) + want
			}
			if !strings.Contains(err.Error(), want) || !fault.Is(err, fault.Invalid) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if c.flags.Config != "" && fault.HintOf(err) == "" {
				t.Error("there is no hint")
			}
			if strings.Contains(err.Error()+fault.HintOf(err), "sk-secret") {
				t.Errorf("the error has the value: %v", err)
			}
		})
	}
}

// TestAllErrors checks that one error names all that is wrong.
func TestAllErrors(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{machineFile: "x = 1\n[log]\nlevel = \"loud\"\n"}, "DEFT_SANDBOX_PIDS=many")
	_, report, err := config.Load(m.Sources)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
	if len(report.Values) != len(config.Settings()) {
		t.Error("the report is not whole")
	}
}

func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{
		machineFile: "[database]\nurl = \"postgres://u:p@old/d\"\n[llm]\napi_key_file = \"../key\"\n", "db": "postgres://u:p@new/d\n", "etc/key": " sk-1 \n",
	})
	m.Flags.DatabaseFile = new(filepath.Join(m.root, "db"))
	must.Succeed(t, os.Chmod(filepath.Join(m.root, machineFile), 0o644))
	c, from, report := m.load(t)
	if c.Database.URL.Reveal() != "postgres://u:p@new/d" || c.LLM.APIKey.Reveal() != "sk-1" {
		t.Errorf("%q %q", c.Database.URL.Reveal(), c.LLM.APIKey.Reveal())
	}
	if from["database.url"] != "[set] <- etc/deft/deft.toml:2" || from["llm.api_key_file"] != filepath.Join(m.root, "etc/key")+" <- etc/deft/deft.toml:4" {
		t.Error(from)
	}
	want := []string{filepath.Join(m.root, machineFile) + ":2: database.url is a secret, and other users of the machine can read the file"}
	if d := cmp.Diff(want, report.Warnings); d != "" {
		t.Error("(-want +got)\n", d)
	}
	if !cmp.Equal(c.Private(), []string{filepath.Join(m.root, machineFile), c.Data, filepath.Join(m.root, "db"), filepath.Join(m.root, "etc/key"), filepath.Join(c.Data, "files")}) {
		t.Error(c.Private())
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, "DEFT_LOG_LEVELS=debug", "DEFT_SANDBOX_IMAGE=a", "DEFT_TEST_DOCKER=x", "DEFT_DATABASE_PASSWORD_X=1")
	_, _, report := m.load(t)
	want := []string{
		"DEFT_SANDBOX_IMAGE: sandbox.image has no effect with sandbox.class process",
		"the variable DEFT_DATABASE_PASSWORD_X is unknown",
		"the variable DEFT_LOG_LEVELS is unknown; did you mean DEFT_LOG_LEVEL?",
	}
	if d := cmp.Diff(want, report.Warnings); d != "" {
		t.Error("(-want +got)\n", d)
	}
}

// TestPlainHTTP: where others read along, the operator is told.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	for address, warned := range map[string]bool{
		"http://deft.example.org": true, "http://192.0.2.1:3000": true, "https://deft.example.org": false,
		"http://localhost:3000": false, "http://127.0.0.1:3000": false, "http://[::1]:3000": false,
	} {
		_, _, report := newMachine(t, nil, "DEFT_SERVER_PUBLIC_URL="+address).load(t)
		if got := strings.Join(report.Warnings, "; "); (got != "") != warned || warned && !strings.HasPrefix(got, "DEFT_SERVER_PUBLIC_URL: over http://") {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	variables, flags := map[string]bool{}, map[string]bool{}
	for _, s := range config.Settings() {
		if s.Help == "" || s.Example == "" || strings.HasSuffix(s.Key, ".") || variables[s.Variable] || s.Flag != "" && flags[s.Flag] {
			t.Errorf("%+v", s)
		}
		if s.Secret && s.Flag != "" {
			t.Errorf("the secret %s has the flag %s", s.Key, s.Flag)
		}
		variables[s.Variable], flags[s.Flag] = true, true
	}
}

func TestAppsDomain(t *testing.T) {
	t.Parallel()
	for domain, says := range map[string]string{
		"Apps.Example.NET.": "",
		"example.org":       "must not have the server's own name",
		"deft.example.org":  "must not have the server's own name",
		"a b":               "must be the name of a domain",
	} {
		m := newMachine(t, nil, "DEFT_SERVER_APPS_DOMAIN="+domain, "DEFT_SERVER_PUBLIC_URL=https://deft.example.org")
		c, _, err := config.Load(m.Sources)
		switch {
		case says == "" && (err != nil || c.Server.AppsDomain != "apps.example.net"):
			t.Errorf("%s: %v", domain, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v", domain, err)
		}
	}
}

// TestWhoIsServed: others are, where the address or the name is not this machine's.
func TestWhoIsServed(t *testing.T) {
	t.Parallel()
	for environ, restricted := range map[string]bool{
		"":                                        false,
		"DEFT_SERVER_ADDRESS=localhost:1":         false,
		"DEFT_SERVER_ADDRESS=[::1]:1":             false,
		"DEFT_SERVER_ADDRESS=0.0.0.0:1":           true,
		"DEFT_SERVER_ADDRESS=:1":                  true,
		"DEFT_SERVER_PUBLIC_URL=https://a.org":    true,
		"DEFT_AUTH_ISSUER=https://id.example.org": true,
	} {
		for hosts, lifted := range map[string]bool{"": false, "DEFT_SERVER_INTERNAL_HOSTS=all": true} {
			m := newMachine(t, nil, environ, hosts, map[bool]string{true: "DEFT_AUTH_CLIENT_ID=deft"}[strings.HasPrefix(environ, "DEFT_AUTH")])
			c, _, _ := m.load(t)
			if got := c.Restricted(); got == c.Local() && hosts == "" || got != (restricted && !lifted) {
				t.Errorf("%s %s: %v", environ, hosts, got)
			}
		}
	}
}

// TestTaskNetwork lets a task choose what its commands reach; on a server for others no more than
// the server's own.
func TestTaskNetwork(t *testing.T) {
	t.Parallel()
	limits := sandbox.Class{Accepts: []sandbox.Feature{sandbox.FeatureNetwork}}
	for _, c := range []struct {
		address, text string
		class         sandbox.Class
		want          sandbox.Network
		kind          fault.Kind
	}{
		{"127.0.0.1:0", "none", limits, "none", ""},
		{"127.0.0.1:0", "open", limits, "open", ""},
		{"127.0.0.1:0", "example.com", limits, "example.com", ""},
		{"127.0.0.1:0", "none,open", limits, "", fault.Invalid},
		{"127.0.0.1:0", "none", sandbox.Class{}, "", fault.Unsupported},
		{"0.0.0.0:0", "none", limits, "none", ""},
		{"0.0.0.0:0", "a.example", limits, "a.example", ""},
		{"0.0.0.0:0", "open", limits, "", fault.Denied},
		{"0.0.0.0:0", "b.example", limits, "", fault.Denied},
	} {
		var cfg config.Config
		cfg.Server.Address, cfg.Sandbox.Net = c.address, "a.example"
		got, err := cfg.TaskNetwork(c.class, c.text)
		if got != c.want || err != nil && !fault.Is(err, c.kind) || (err == nil) != (c.kind == "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	var cfg config.Config
	cfg.Server.Address = "0.0.0.0:0"
	if got := cfg.Networks(limits); !slices.Equal(got, []string{"none"}) {
		t.Errorf("networks of a server for others: %q", got)
	}
	cfg.Server.Address, cfg.Sandbox.Net = "127.0.0.1:0", "a.example"
	if got := cfg.Networks(limits); len(got) != 4 || got[0] != "a.example" {
		t.Errorf("networks: %q", got)
	}
	if got := cfg.Networks(sandbox.Class{}); got != nil {
		t.Errorf("networks without limits: %q", got)
	}
}
