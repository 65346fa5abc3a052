package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// DefaultFile is the default path of the settings file.
const DefaultFile = "workspace/openhands_agent_server_config.json"

// maxFile bounds the settings file, in bytes.
const maxFile = 4 << 20

// Loaded is a configuration with the values of the flags and the environment.
type Loaded struct {
	*Config
	// Host and Port are where to listen; a port of 0 is any.
	Host string
	Port int
	// Sandbox is the class of sandboxes.
	Sandbox sandbox.Class
	// Container and ContainerLimits are for conversations in containers.
	Container       sandbox.Container
	ContainerLimits sandbox.Limits
	// Net has the hosts that commands in a sandbox may reach.
	Net sandbox.Network
	// Limits bound each sandbox.
	Limits sandbox.Limits
	// Readable and Writable are the directories of --read and --write, without links.
	Readable, Writable []string
	// Checkpoints says when checkpoints of workspaces are taken.
	Checkpoints session.CheckpointTimes
	// PersistenceDir is the user's directory: settings, profiles, secrets.
	PersistenceDir string
	// files are the named configuration file and that with the session keys.
	files []string
	// Warnings are for the operator, without values.
	Warnings []string
}

// Load returns the configuration that the environment ("NAME=value"), the file it
// names, and the flags make. An address that others can reach without a key is an
// error of kind fault.Denied, with the next step.
func Load(environ []string, f Flags) (*Loaded, error) {
	e := newEnvironment(environ)
	named := cmp.Or(f.Config, e.vars["OPENHANDS_AGENT_SERVER_CONFIG_PATH"])
	file, err := readFile(cmp.Or(named, DefaultFile))
	if err != nil {
		return nil, err
	}
	vars, err := e.object("OH", reflect.TypeFor[Config]())
	if err != nil {
		return nil, err
	}
	if file == nil {
		file = map[string]any{}
		if named != "" {
			e.warnings = append(e.warnings, "the settings file does not exist: "+named)
		}
	}
	tree := merge(file, vars)
	c := Default()
	c.ConversationsPath = cmp.Or(f.DefaultConversationsPath, c.ConversationsPath)
	var d decoder
	if err := d.object(reflect.ValueOf(c).Elem(), tree, ""); err != nil {
		return nil, err
	}
	if err := f.chooseRuntime(c); err != nil {
		return nil, err
	}
	class, err := f.Classes.Find(cmp.Or(f.Sandbox, sandbox.None.Name))
	if err != nil {
		return nil, err
	}
	l := &Loaded{Config: c, files: []string{cmp.Or(named, DefaultFile), f.SessionAPIKeyFile}, Host: f.Host, Port: f.Port, Sandbox: class, Checkpoints: session.CheckpointTimes(cmp.Or(f.Checkpoints, string(session.CheckpointsOff))), Net: f.Net, Limits: sandbox.Limits{MemoryBytes: int64(f.Memory), PIDs: f.Pids, CPUs: f.CPUs}}
	c.applyKeys(tree, e)
	ignored, err := f.apply(c)
	if err != nil {
		return nil, err
	}
	if err := l.applyContainer(f); err != nil {
		return nil, err
	}
	if l.PersistenceDir, err = PersistenceDir(func(name string) string { return e.vars[name] }); err != nil {
		return nil, err
	}
	rules := workspacedir.Rules{Home: e.vars["HOME"], Data: l.Data()}
	if l.Readable, err = rules.Granted("--read", f.Read); err != nil {
		return nil, err
	}
	if l.Writable, err = rules.Granted("--write", f.Write); err != nil {
		return nil, err
	}
	grant := func(dir string) (string, error) { return rules.Grant("--mount", dir) }
	if l.Container.Mounts, err = sandbox.GrantMounts(f.Mount, grant); err != nil {
		return nil, err
	}
	l.Warnings = slices.Concat(e.warnings, d.warnings, e.unknown(), ignored, c.ineffective())
	slices.Sort(l.Warnings)
	if err := errors.Join(c.check(), l.applyHost()); err != nil {
		return nil, err
	}
	return l, nil
}

// readFile reads the settings file, or returns nil if there is none.
func readFile(name string) (any, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the settings")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "read the settings")
	case len(raw) > maxFile:
		return nil, fault.New(fault.Invalid, "the settings file "+name+" is too long")
	}
	return parseFile(name, textfile.Decode(raw))
}

func parseFile(name string, raw []byte) (any, error) {
	tree, err := parse(raw)
	if err != nil { // the decoder's error could quote a key
		return nil, fault.New(fault.Invalid, "the settings file "+name+" is not JSON").Hint("check it with a JSON tool, for example `jq . " + name + "`")
	}
	if _, ok := tree.(map[string]any); !ok {
		return nil, fault.New(fault.Invalid, "the settings file "+name+" must be a JSON object")
	}
	return tree, nil
}

// otherVariables have the prefix OH_ and are no settings.
var otherVariables = []string{
	"OH_PERSISTENCE_DIR", "OH_INTERNAL_SERVER_URL", "OH_RUNTIME_IDLE_TIMEOUT_SECONDS", "OH_EXTRA_PYTHON_PATH",
	"OH_TERMINAL_PROCESS_PRIORITY", "OH_RUNTIME_LAUNCHED_PROFILE", "OH_TELEMETRY_CONSENT",
}

// unknown warns of unknown variables, in one line.
func (e *environment) unknown() []string {
	var names []string
	for name := range e.vars {
		if strings.HasPrefix(name, "OH_") && !e.used[name] && !slices.Contains(otherVariables, name) &&
			!strings.HasPrefix(name, "OH_LLM_API_KEY_REFRESH_") && !strings.HasSuffix(name, "_IS_NONE") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"unknown variables: " + strings.Join(names, ", ")}
}

// applyKeys removes blank keys and takes the older variables for those that are
// not configured.
func (c *Config) applyKeys(tree any, e *environment) {
	old := llm.Secret(e.vars["SESSION_API_KEY"])
	m, _ := tree.(map[string]any)
	if m["session_api_keys"] == nil && old != "" {
		c.SessionAPIKeys = []llm.Secret{old}
	}
	c.SessionAPIKeys = slices.DeleteFunc(c.SessionAPIKeys, blank)
	if blank(c.SecretKey) {
		_, c.blankSecretKey = m["secret_key"].(string)
		c.SecretKey = old
		if blank(old) {
			c.SecretKey = llm.Secret(e.vars["OH_SESSION_API_KEYS_0"])
		}
		if blank(c.SecretKey) {
			c.SecretKey = ""
		}
	}
}

// blank reports whether a key is empty or white space.
func blank(key llm.Secret) bool { return strings.TrimSpace(key.Reveal()) == "" }

// check makes the checks that the tags of single fields cannot make.
func (c *Config) check() error {
	for i, w := range c.Webhooks {
		if u, err := url.Parse(w.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return wrong("webhooks."+strconv.Itoa(i)+".base_url", "must be a URL of http or https")
		}
	}
	for i, m := range c.RegisteredMarketplaces {
		at := "registered_marketplaces." + strconv.Itoa(i)
		switch {
		case m.Name == "":
			return wrong(at+".name", "is missing")
		case m.Source == "":
			return wrong(at+".source", "is missing")
		case m.RepoPath != nil && !insideRepo(*m.RepoPath):
			return wrong(at+".repo_path", "must be a path inside the repository")
		}
	}
	if r := c.AllowCORSOriginRegex; r != nil {
		if _, err := regexp.Compile(*r); err != nil {
			return wrong("allow_cors_origin_regex", "is not a regular expression of RE2")
		}
	}
	return nil
}

func insideRepo(p string) bool {
	return p != "" && !strings.Contains(p, `\`) && !path.IsAbs(p) && !slices.Contains(strings.Split(p, "/"), "..")
}

// ineffective warns of settings without effect.
func (c *Config) ineffective() (out []string) {
	if c.Telemetry.Exporter != "none" {
		out = append(out, "telemetry.exporter has no effect: this server sends no telemetry")
	}
	return append(out, c.DockerRuntime.ineffective()...)
}

// applyHost chooses the address. Without a key it refuses one that others can
// reach, and web pages of all origins.
func (l *Loaded) applyHost() error {
	closed := len(l.SessionAPIKeys) > 0
	if l.Host == "" {
		l.Host = "127.0.0.1"
		if closed {
			l.Host = "0.0.0.0"
		}
	}
	l.Host = strings.TrimSuffix(strings.TrimPrefix(l.Host, "["), "]")
	if l.Port < 0 || l.Port > 65535 {
		return fault.New(fault.Invalid, fmt.Sprintf("the port must be 0 to 65535, not %d", l.Port))
	}
	dormant := l.DeferredInit && l.SecretKey != "" // POST /api/init needs the secret key
	if closed || dormant {
		return nil
	}
	if l.Origin("https://any-page.invalid") {
		return fault.New(fault.Denied, "refusing to let all web pages use a server without a session key: any page that you visit could run commands").
			Hint("name the pages in allow_cors_origins (OH_ALLOW_CORS_ORIGINS_0), or set OH_SESSION_API_KEYS_0")
	}
	if Private(l.Host) {
		return nil
	}
	return fault.New(fault.Denied, "refusing to listen on "+l.Host+" without a session key: anyone who can reach it could run commands").
		Hint("set OH_SESSION_API_KEYS_0 (or --session-api-key-file), or listen on 127.0.0.1")
}

// Private reports whether only this machine reaches an address.
func Private(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Network is the network of [Loaded.Address]: 0.0.0.0 means IPv4 alone.
func (l *Loaded) Network() string {
	if l.Host == "0.0.0.0" {
		return "tcp4"
	}
	return "tcp"
}

// Address is the address to listen on, for net.Listen.
func (l *Loaded) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// InternalURL returns the URL by which this machine reaches a server that listens
// on addr, without a slash at the end. Relative URLs of secrets start with it.
func InternalURL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://127.0.0.1:8000"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// PersistenceDir is the directory of the user's settings, profiles and secrets:
// OH_PERSISTENCE_DIR, else ~/.openhands. env reads environment variables. Without
// either it is an error of kind Invalid.
func PersistenceDir(env func(string) string) (string, error) {
	home, dir := env("HOME"), env("OH_PERSISTENCE_DIR")
	switch rest, tilde := strings.CutPrefix(dir, "~/"); {
	case dir != "" && !tilde:
		abs, err := filepath.Abs(dir)
		return abs, fault.Wrap(err, fault.Invalid, "find OH_PERSISTENCE_DIR")
	case home == "":
		return "", fault.New(fault.Invalid, "neither OH_PERSISTENCE_DIR nor HOME is set").Hint("set OH_PERSISTENCE_DIR to a directory for settings")
	case tilde:
		return filepath.Join(home, rest), nil
	}
	return filepath.Join(home, ".openhands"), nil
}
