// Package config loads the configuration of `deft serve`: defaults, then TOML files, then
// OpenHands' config.toml if one is named, then variables, then flags. Each overrides the
// ones before it.
//
// # Usage
//
//	type serveCmd struct {
//		config.Flags `embed:""`
//	}
//
//	cfg, report, err := config.Load(config.Sources{
//		Environ: os.Environ(), Flags: c.Flags, Data: g.Data, DefaultData: p.data, Classes: classes,
//	})
//	for _, w := range report.Warnings { log.Warn("configuration", "warning", w) }
//	listener, err := net.Listen("tcp", cfg.Server.Address)
//
// [Config] is the table of all settings: `deft config`, the example file and
// docs/configuration.md are made from its tags. A new setting needs a field there, and, if
// it has a flag, one in [Flags].
//
// # Concurrency and failure
//
// A Config does not change after it was loaded. Errors are of kind fault.Invalid and name
// the setting and the file with the line, the variable or the flag that it comes from, and
// never the value, which may be a secret. All that is wrong is in one error. Unknown keys of
// our own files are errors; unknown variables are warnings, and so are keys of OpenHands'
// file that have no effect.
package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
)

// Config is the configuration of `deft serve`. The tags of a field say all about a setting:
// toml, its name in the file; help, its meaning; default and example, in the form of a
// variable; env, its variable if that is not DEFT_ and its key in capitals; oneof, min and
// max, the allowed values; path, that it is a file or a directory; sep, the separator of
// the items of a variable with a list, a comma if there is none.
type Config struct {
	// Data is an absolute path.
	Data string `toml:"data" path:"true" example:"/var/lib/deft" help:"Directory of all data of Deft, for all commands."`

	Server        Server        `toml:"server"`
	Auth          Auth          `toml:"auth"`
	Database      Database      `toml:"database"`
	Sandbox       Sandbox       `toml:"sandbox"`
	Classes       Classes       `toml:"classes"`
	Conversations Conversations `toml:"conversations"`
	LLM           LLM           `toml:"llm"`
	Git           Git           `toml:"git"`
	Files         Files         `toml:"files"`
	Log           Log           `toml:"log"`

	files []string // that were read
}

// Server is how clients reach the server.
type Server struct {
	Address    string `toml:"address" default:"127.0.0.1:3000" example:"0.0.0.0:3000" help:"Address to listen on; port 0 takes a free one."`
	PublicURL  string `toml:"public_url" example:"https://deft.example.org" help:"Address at which browsers and sandboxes reach the server, where it is not that to listen on."`
	ReplicaURL string `toml:"replica_url" example:"http://10.0.0.5:3000" help:"Address at which other servers on the same PostgreSQL database reach this one, to pass on requests about conversations that it works on (default: that to listen on, or where it is all of the machine, the machine's first address)."`
	// AppsDomain is in lower case, without a dot at its start or end.
	AppsDomain string `toml:"apps_domain" example:"apps.example.net" help:"Domain whose names below it all lead to this server, for the programs that listen in sandboxes; none that the server itself or other pages of yours have (default: localhost, where only this machine is served)."`
	// AllowedOrigins are without a slash at the end.
	AllowedOrigins []string `toml:"allowed_origins" example:"https://app.example.org" help:"Origins of other web pages that may use the server."`
	// TLSCertificate and TLSKey are both set or both empty.
	TLSCertificate string `toml:"tls_certificate" path:"true" example:"/etc/deft/tls.pem" help:"File with the certificate, and the certificates between it and its authority; the server then speaks HTTPS."`
	TLSKey         string `toml:"tls_key" path:"true" example:"/etc/deft/tls.key" help:"File with the certificate's key."`
	// InternalHosts is nil for the default, which depends on who is served.
	InternalHosts []string `toml:"internal_hosts" example:"llm.example.org" help:"Hosts, addresses and networks that are not public and that users may name all the same, as addresses of models, MCP servers and repositories; or all (default: all where only this machine is served, none where others are)."`
	// CostlyPerMinute is 0 for no limit.
	CostlyPerMinute int            `toml:"costly_per_minute" min:"0" default:"600" example:"60" help:"Starts of conversations and other costly requests of a user in a minute; 0 for no limit."`
	TrustedProxies  []netip.Prefix `toml:"trusted_proxies" example:"10.0.0.0/8" help:"Networks of proxies whose X-Forwarded headers count."`
}

// forThisMachine reports whether only this machine reaches the server.
func (s Server) forThisMachine() bool {
	host, _, _ := net.SplitHostPort(s.Address) // it was checked
	return s.PublicURL == "" && loopback(host)
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Restricted reports whether users may name public hosts only, but for those listed.
func (c *Config) Restricted() bool {
	if c.Server.InternalHosts == nil {
		return !c.Local()
	}
	return !slices.Contains(c.Server.InternalHosts, outbound.All)
}

// Database is where the App Server's tables are.
type Database struct {
	// URL is empty for SQLite in the data directory.
	URL     llm.Secret `toml:"url" example:"postgres://deft:PASSWORD@db.example.org/deft" help:"PostgreSQL database; it never is a flag, because it has a password (default: SQLite in the data directory)."`
	URLFile string     `toml:"url_file" path:"true" example:"/run/secrets/database-url" help:"File with the address of the PostgreSQL database."`
}

// PostgreSQL reports whether the database is one of PostgreSQL.
func (d Database) PostgreSQL() bool { return d.URL != "" }

// Sandbox is the sandbox of conversations.
type Sandbox struct {
	Class      string          `toml:"class" default:"process" example:"docker" help:"Class of sandboxes, which isolates the actions of agents; deft sandbox classes lists them."`
	Image      string          `toml:"image" example:"python:3.13-bookworm" help:"Image for classes with images; any image will do (default: the class's)."`
	Pull       string          `toml:"pull" oneof:"missing always never" example:"always" help:"When the image is fetched: missing, always or never (default: missing)."`
	OCIRuntime string          `toml:"oci_runtime" example:"runsc" help:"Runtime of containers, for example runsc for gVisor (default: the engine's)."`
	Net        sandbox.Network `toml:"net" default:"none" example:"go,npm,.example.com:443" help:"Hosts that commands may reach: open (every public one), names of hosts, the registries of go, npm, pypi, cargo, maven or debian, or none. This machine is never reached."`
	Read       []string        `toml:"read" path:"true" sep:":" example:"/srv/datasets" help:"Directories outside the workspaces that commands may read."`
	Write      []string        `toml:"write" path:"true" sep:":" example:"/srv/results" help:"Directories outside the workspaces that commands may change."`
	Mounts     []sandbox.Mount `toml:"mounts" example:"/srv/data:/data:ro" help:"Directories or volumes that containers have as well, SOURCE:TARGET with :rw, :ro or :overlay."`
	// Environment is for all commands of agents.
	Environment map[string]string `toml:"environment" example:"LANG=C.UTF-8" help:"Variables for the commands of agents; no secrets, agents can read them."`
	// Memory is in bytes, Disk too; 0 is the class's default, below 0 no limit.
	Memory           sandbox.Size `toml:"memory" example:"8G" help:"Memory of each sandbox, or none for no limit (default: three quarters of this machine's; 4G in a container)."`
	Disk             sandbox.Size `toml:"disk" example:"10G" help:"How much a container may write beside the workspace and mounts, where the engine can limit it (default: no limit)."`
	Pids             int          `toml:"pids" min:"-1" example:"1024" help:"Processes and threads of each sandbox; -1 for no limit (default: 1024, or 64 for each processor; 512 in a container)."`
	CPUs             float64      `toml:"cpus" min:"0" example:"2" help:"Processors of each sandbox (default: all; 2 in a container)."`
	Grouping         string       `toml:"grouping" default:"NO_GROUPING" oneof:"NO_GROUPING GROUP_BY_NEWEST LEAST_RECENTLY_USED FEWEST_CONVERSATIONS ADD_TO_ANY" example:"GROUP_BY_NEWEST" help:"Where a conversation is placed that names no sandbox, unless its user has set sandbox_grouping_strategy: NO_GROUPING (a new one), GROUP_BY_NEWEST, LEAST_RECENTLY_USED, FEWEST_CONVERSATIONS or ADD_TO_ANY."`
	MaxPerUser       int          `toml:"max_per_user" min:"0" example:"10" help:"Sandboxes that a user may have; 0 for no limit."`
	Warm             int          `toml:"warm" min:"0" max:"100" example:"2" help:"Sandboxes of docker or process that are started before there is a conversation, so that one without a repository need not wait for its sandbox; they are kept that many (default: none)."`
	RuntimeAPI       string       `toml:"runtime_api" env:"DEFT_RUNTIME_API" example:"https://runtimes.example.org" help:"Address of the Runtime API for remote."`
	RuntimeAPIKeyEnv string       `toml:"runtime_api_key_env" env:"DEFT_RUNTIME_API_KEY_ENV" default:"DEFT_RUNTIME_API_KEY" example:"RUNTIMES_KEY" help:"Name of the variable with the key for the Runtime API."`
}

// Limits are the limits of each sandbox.
func (s Sandbox) Limits() sandbox.Limits {
	return sandbox.Limits{MemoryBytes: int64(s.Memory), PIDs: s.Pids, CPUs: s.CPUs}
}

// Classes of the parts of conversations, by their registered names; empty for the
// standard ones.
type Classes struct {
	Agent    string `toml:"agent" env:"DEFT_AGENT_CLASS" example:"CodeActAgent" help:"Class of the agent of conversations that name none."`
	Runtime  string `toml:"runtime" env:"DEFT_RUNTIME_CLASS" example:"sandboxed" help:"Class of the runtime."`
	Executor string `toml:"executor" env:"DEFT_EXECUTOR_CLASS" example:"exec:/usr/local/bin/executor" help:"Class of the executors of actions, or exec:PATH for a program."`
}

// Conversations limit conversations.
type Conversations struct {
	// MaxPerUser and MaxRunning are 0 for no limit of their own.
	MaxPerUser int `toml:"max_per_user" min:"0" example:"20" help:"Conversations that a user may have at work when another one starts; 0 for no limit."`
	MaxRunning int `toml:"max_running" min:"0" example:"200" help:"Conversations of all users that may run at one time (default: by memory, files and processes of this machine)."`
	// IdleTimeout is 0 for never.
	IdleTimeout time.Duration `toml:"idle_timeout" min:"0" default:"20m" example:"1h" help:"Time without use after which a conversation is unloaded from memory and its container paused; 0 for never."`
	// Checkpoints is when the files of workspaces are kept.
	Checkpoints   string     `toml:"checkpoints" oneof:"off turn step" default:"step" example:"turn" help:"When the files are kept so that a conversation can be forked or rewound with them: turn, before the first action after a message; step, before the actions of each answer too; or off."`
	Confirm       string     `toml:"confirm" oneof:"never risky always" default:"risky" example:"never" help:"Which actions wait for the user's yes, unless the start of a conversation or the user's settings say otherwise: never, risky (of high or unknown risk) or always."`
	MaxIterations int        `toml:"max_iterations" min:"1" default:"500" example:"200" help:"Steps of the agent after which a conversation stops, unless the user's settings say otherwise."`
	MaxBudget     float64    `toml:"max_budget" min:"0" example:"5" help:"US dollars that a conversation may cost, unless the user's settings say otherwise; 0 for no limit."`
	SearchAPIKey  llm.Secret `toml:"search_api_key" example:"tvly-…" help:"Key of Tavily, with which agents search the web, unless the user's settings have one."`
}

// LLM is the model of users who have chosen none.
type LLM struct {
	Model string `toml:"model" env:"LLM_MODEL" example:"anthropic/claude-sonnet-4-5" help:"LLM of users who have chosen none."`
	// APIKey is the key itself; Load reads the variable and the file.
	APIKey          llm.Secret `toml:"api_key" env:"LLM_API_KEY" example:"sk-…" help:"Its key."`
	APIKeyEnv       string     `toml:"api_key_env" example:"ANTHROPIC_API_KEY" help:"Name of the variable with its key."`
	APIKeyFile      string     `toml:"api_key_file" path:"true" example:"/run/secrets/llm-key" help:"File with its key."`
	BaseURL         string     `toml:"base_url" env:"LLM_BASE_URL" example:"http://127.0.0.1:11434" help:"Address of its API, for servers of your own."`
	APIVersion      string     `toml:"api_version" env:"LLM_API_VERSION" example:"2024-12-01-preview" help:"The api-version of an Azure OpenAI resource."`
	ReasoningEffort string     `toml:"reasoning_effort" env:"LLM_REASONING_EFFORT" oneof:"none low medium high xhigh" example:"medium" help:"How long the model thinks: none, low, medium, high or xhigh."`
	Temperature     *float64   `toml:"temperature" env:"LLM_TEMPERATURE" min:"0" max:"2" example:"0.7" help:"Randomness of the answers (default: the provider's)."`
	MaxOutputTokens int        `toml:"max_output_tokens" env:"LLM_MAX_OUTPUT_TOKENS" min:"0" example:"8192" help:"Longest answer, in tokens; 0 for the model's own limit."`
}

// Git has the applications at Git hosts by which OAuth tokens are renewed.
type Git struct {
	GitHubClientID        string     `toml:"github_client_id" env:"GITHUB_APP_CLIENT_ID" example:"Iv1.8a61f9b3a7aba766" help:"Client id of a GitHub App, by which users' tokens are renewed before they expire."`
	GitHubClientSecret    llm.Secret `toml:"github_client_secret" env:"GITHUB_APP_CLIENT_SECRET" example:"…" help:"Its secret."`
	GitHubTokenURL        string     `toml:"github_token_url" example:"https://github.example.com/login/oauth/access_token" help:"Address at which it renews tokens of that host (default: GitHub's)."`
	GitLabClientID        string     `toml:"gitlab_client_id" env:"GITLAB_APP_CLIENT_ID" example:"…" help:"Id of a GitLab application, for the same."`
	GitLabClientSecret    llm.Secret `toml:"gitlab_client_secret" env:"GITLAB_APP_CLIENT_SECRET" example:"…" help:"Its secret."`
	GitLabTokenURL        string     `toml:"gitlab_token_url" example:"https://gitlab.example.com/oauth/token" help:"Address at which it renews tokens of that host (default: GitLab's)."`
	BitbucketClientID     string     `toml:"bitbucket_client_id" env:"BITBUCKET_APP_CLIENT_ID" example:"…" help:"Key of a Bitbucket OAuth consumer, for the same."`
	BitbucketClientSecret llm.Secret `toml:"bitbucket_client_secret" env:"BITBUCKET_APP_CLIENT_SECRET" example:"…" help:"Its secret."`
}

// Files is the place of archives of workspaces whose sandbox was deleted, and of
// replayed recordings.
type Files struct {
	// URL is of the scheme file, s3 or gs.
	URL string `toml:"url" example:"s3://bucket?region=eu-central-1" help:"Directory or bucket of the archives of workspaces whose sandbox was deleted, and of recordings that are replayed: file:///DIR, s3://BUCKET/PREFIX?region=NAME&endpoint=URL, or gs://BUCKET/PREFIX with an HMAC key (default: files in the data directory)."`
}

// Log is the server's output on standard error.
type Log struct {
	Level  string `toml:"level" default:"info" oneof:"debug info warn error" example:"debug" help:"From which level on lines are written: debug, info, warn or error."`
	Format string `toml:"format" default:"text" oneof:"text json" example:"json" help:"Form of the lines: text or json."`
}

// Private are the absolute paths that no sandbox shows: the data directory, and the files
// with keys, also the configuration's.
func (c *Config) Private() []string {
	var out []string
	for _, f := range c.files {
		if p, err := filepath.Abs(f); err == nil {
			out = append(out, p)
		}
	}
	for _, p := range []string{c.Data, c.Server.TLSKey, c.Database.URLFile, c.LLM.APIKeyFile, c.FilesDir()} {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// FilesDir is the directory of files; empty if they are in a bucket.
func (c *Config) FilesDir() string {
	if c.Files.URL == "" {
		return filepath.Join(c.Data, "files")
	}
	dir, ok := strings.CutPrefix(c.Files.URL, "file://")
	if !ok {
		return ""
	}
	return filepath.Clean(dir)
}

// InternalHosts are the hosts that users may name, and the host of the operator's own model.
func (c *Config) InternalHosts() []string {
	all := slices.Clone(c.Server.InternalHosts)
	if u, err := url.Parse(c.LLM.BaseURL); err == nil && u.Host != "" {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		all = append(all, net.JoinHostPort(u.Hostname(), port))
	}
	return all
}

// Document is the LLM of users who have chosen none.
func (c LLM) Document() *schema.Map {
	if c.Model == "" {
		return nil
	}
	m := schema.Of("model", c.Model, "stream", true)
	for key, value := range map[string]string{
		"api_key": c.APIKey.Reveal(), "base_url": c.BaseURL, "api_version": c.APIVersion, "reasoning_effort": c.ReasoningEffort,
	} {
		if value != "" {
			m.Set(key, value)
		}
	}
	if c.Temperature != nil {
		m.Set("temperature", *c.Temperature)
	}
	if c.MaxOutputTokens > 0 {
		m.Set("max_output_tokens", schema.Count(c.MaxOutputTokens))
	}
	return m
}

// Trusts reports whether an address is one of a proxy whose X-Forwarded headers count.
func (s Server) Trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
}
