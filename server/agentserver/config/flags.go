package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
)

// Flags are the command line, for kong. Zero values leave a setting to the
// variables and the file. A key is never the value of a flag: other users of the
// machine can read command lines.
type Flags struct {
	Host              string `help:"Address to listen on. Without keys only one of this machine is allowed (default: 127.0.0.1; 0.0.0.0 once session keys are configured)." placeholder:"ADDRESS"`
	Port              int    `help:"Port to listen on; 0 takes a free one." default:"8000"`
	Config            string `help:"Settings as JSON; OH_* variables and flags win over it (default: workspace/openhands_agent_server_config.json)." env:"OPENHANDS_AGENT_SERVER_CONFIG_PATH" placeholder:"FILE"`
	SessionAPIKeyFile string `name:"session-api-key-file" help:"File with the keys that clients must show, one per line. As a variable: OH_SESSION_API_KEYS_0." placeholder:"FILE"`
	ConversationsPath string `help:"Directory of conversations (default: deft run's)." placeholder:"DIR"`
	// DefaultConversationsPath is the directory of conversations if nothing names one;
	// empty for OpenHands' own default, see [Default].
	DefaultConversationsPath string `kong:"-"`
	// Classes are the registered classes of sandboxes. Required.
	Classes           sandbox.Classes     `kong:"-"`
	WorkspacePath     string              `help:"Directory that conversations of the OpenAI gateway work in (default: workspace/project)." placeholder:"DIR"`
	MaxConcurrentRuns int                 `help:"Conversations that may work at one time; more are answered with 429 (default: by memory, files and processes of this machine)." placeholder:"N"`
	Sandbox           string              `help:"Isolation of the agents' actions: ${sandbox_classes}." enum:"${sandbox_names}" default:"none" env:"DEFT_AGENT_SERVER_SANDBOX"`
	Image             string              `help:"Image for --sandbox ${image_classes}; any image will do (default for ${default_images}, or conversation_image if that is set)." placeholder:"IMAGE" env:"DEFT_AGENT_SERVER_IMAGE"`
	Pull              string              `help:"When the image is fetched: missing, always or never." enum:",missing,always,never" default:"" placeholder:"WHEN" env:"DEFT_AGENT_SERVER_PULL"`
	OCIRuntime        string              `name:"oci-runtime" help:"Runtime of containers, for example runsc for gVisor (default: the engine's)." placeholder:"NAME" env:"DEFT_AGENT_SERVER_OCI_RUNTIME"`
	Net               sandbox.Network     `help:"Hosts that commands in a sandbox may reach: every public host (--net), these hosts (--net=pypi.org,.example.com:443), the registries of go, npm, pypi, cargo, maven or debian (--net=go,npm) or none; --net=open,HOST adds a host with a private address. This machine is never reached. Needs --sandbox ${network_classes} (default: none)." placeholder:"HOSTS" env:"DEFT_AGENT_SERVER_NET"`
	Read              []string            `help:"Directory outside the workspaces that commands in a sandbox may read. May be repeated. Needs --sandbox ${grant_classes}." placeholder:"DIR" type:"path" env:"DEFT_AGENT_SERVER_READ" sep:":"`
	Write             []string            `help:"Directory outside the workspaces that commands in a sandbox may change. May be repeated. Needs --sandbox ${grant_classes}." placeholder:"DIR" type:"path" env:"DEFT_AGENT_SERVER_WRITE" sep:":"`
	Mount             []sandbox.Mount     `help:"Directory or volume that containers have as well, rw (the default), ro or overlay: files that are written to an overlay stay in its sandbox. May be repeated. Needs --sandbox ${mount_classes}." placeholder:"SOURCE:TARGET[:MODE]" sep:"none"`
	AddHost           []sandbox.ExtraHost `name:"add-host" help:"A name that containers know the address of. May be repeated. Needs --sandbox ${host_classes}." placeholder:"NAME:ADDRESS" sep:"none"`
	ReadOnly          bool                `name:"read-only-image" help:"Make the containers' own files read-only; /tmp, /run and the home are in memory. Needs --sandbox ${readonly_classes}."`
	GPUs              string              `name:"gpus" help:"GPUs of each container: all, a number, or ids (default: none). Needs --sandbox ${gpu_classes}." placeholder:"GPUS"`
	Memory            sandbox.Size        `help:"How much memory each sandbox may use, for example 8G, or none for no limit (default: three quarters of this machine's; 4G in a container)." placeholder:"SIZE" env:"DEFT_AGENT_SERVER_MEMORY"`
	Pids              int                 `help:"How many processes and threads each sandbox may have; -1 for no limit (default: 1024, or 64 for each processor; 512 in a container)." placeholder:"N" env:"DEFT_AGENT_SERVER_PIDS"`
	Disk              sandbox.Size        `help:"How much each container may write beside the workspace and mounts, for example 10G, where the engine can limit it (default: no limit)." placeholder:"SIZE" env:"DEFT_AGENT_SERVER_DISK"`
	IdleTimeout       *time.Duration      `help:"Time without use after which a conversation is unloaded from memory and its container paused, until it is used again; 0 for never (default: 20m, or conversation_idle_ttl_seconds)." placeholder:"DURATION" env:"DEFT_AGENT_SERVER_IDLE_TIMEOUT"`
	CPUs              float64             `name:"cpus" help:"How many processors each sandbox may use (default: all; 2 in a container)." placeholder:"N" env:"DEFT_AGENT_SERVER_CPUS"`

	Checkpoints string `help:"When the files are kept so that deft undo and deft conversations fork can bring them back: turn, before the first action after a message; step, before the actions of each answer too; or off (default)." enum:"off,turn,step" default:"off" placeholder:"WHEN" env:"DEFT_AGENT_SERVER_CHECKPOINTS"`

	Reload          bool   `help:"For compatibility with OpenHands; no effect." hidden:""`
	ImportModules   string `help:"For compatibility with OpenHands; no effect." hidden:""`
	ExtraPythonPath string `help:"For compatibility with OpenHands; no effect." hidden:""`
	CheckBrowser    bool   `help:"For compatibility with OpenHands; ends with an error, because browsers run in the sandboxes of conversations." hidden:""`
}

// apply overrides the configuration by the flags.
func (f Flags) apply(c *Config) (warnings []string, err error) {
	if f.CheckBrowser {
		return nil, fault.New(fault.Unsupported, "browsers run in the sandboxes of conversations, so this server cannot check one").
			Hint("start it without --check-browser; an agent is told where its sandbox has none")
	}
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&c.ConversationsPath, f.ConversationsPath)
	set(&c.WorkspacePath, f.WorkspacePath)
	switch {
	case f.MaxConcurrentRuns < 0:
		return nil, fault.New(fault.Invalid, "--max-concurrent-runs must be at least 1")
	case f.MaxConcurrentRuns > 0:
		c.MaxConcurrentRuns = f.MaxConcurrentRuns
	}
	if t := f.IdleTimeout; t != nil {
		switch c.ConversationIdleTTLSeconds = nil; {
		case *t < 0:
			return nil, fault.New(fault.Invalid, "--idle-timeout must not be negative").Hint("0 is for never")
		case *t > 0:
			c.ConversationIdleTTLSeconds = new(t.Seconds())
		}
	}
	if f.SessionAPIKeyFile != "" {
		if c.SessionAPIKeys, err = keysIn(f.SessionAPIKeyFile); err != nil {
			return nil, err
		}
	}
	for name, given := range map[string]bool{
		"--reload": f.Reload, "--import-modules": f.ImportModules != "", "--extra-python-path": f.ExtraPythonPath != "",
	} {
		if given {
			warnings = append(warnings, name+" has no effect: this server runs no Python")
		}
	}
	if f.CPUs < 0 {
		return nil, fault.New(fault.Invalid, "--cpus must not be negative").Hint("leave it out for no limit")
	}
	more, err := f.checkSandbox(c)
	return append(warnings, more...), err
}

// checkSandbox refuses options that the class of sandboxes does not have. Containers
// may still come where conversations choose them.
func (f Flags) checkSandbox(c *Config) (warnings []string, err error) {
	class := f.Classes.Get(cmp.Or(f.Sandbox, sandbox.None.Name))
	asked := []sandbox.Asked{
		{Feature: sandbox.FeatureNetwork, Settings: []string{"--net"}, Given: f.Net != "" && class.New != nil},
		{Feature: sandbox.FeatureLimits, Settings: []string{"--memory", "--pids", "--cpus"}, Given: f.Memory != 0 || f.Pids != 0 || f.CPUs != 0},
		{Feature: sandbox.FeatureGrants, Settings: []string{"--read", "--write"}, Given: len(f.Read)+len(f.Write) > 0},
	}
	if !c.ConversationRuntimeSelectable {
		asked = append(asked, []sandbox.Asked{
			{Feature: sandbox.FeatureMounts, Settings: []string{"--mount"}, Given: len(f.Mount) > 0},
			{Feature: sandbox.FeatureExtraHosts, Settings: []string{"--add-host"}, Given: len(f.AddHost) > 0},
			{Feature: sandbox.FeatureReadOnly, Settings: []string{"--read-only-image"}, Given: f.ReadOnly},
			{Feature: sandbox.FeatureGPUs, Settings: []string{"--gpus"}, Given: f.GPUs != ""},
			{Feature: sandbox.FeatureDisk, Settings: []string{"--disk"}, Given: f.Disk > 0},
			{Feature: sandbox.FeatureImage, Settings: []string{"--image", "--pull", "--oci-runtime"}, Given: f.Image+f.Pull+f.OCIRuntime != ""},
		}...)
	}
	if err := f.Classes.Refuse(sandbox.Choice{Name: class.Name, Class: class}, asked...); err != nil {
		return nil, err
	}
	if f.Net != "" && !class.Has(sandbox.FeatureNetwork) {
		warnings = append(warnings, "--net limits commands in a sandbox: without --sandbox "+f.Classes.Accepting(sandbox.FeatureNetwork)[0].Name+" they have the network of the server")
	}
	return warnings, nil
}

// keysIn reads a file with keys.
func keysIn(file string) (keys []llm.Secret, err error) {
	raw, err := textfile.Read(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the session keys")
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" {
			keys = append(keys, llm.Secret(line))
		}
	}
	if len(keys) == 0 {
		return nil, fault.New(fault.Invalid, "the file "+file+" has no session key").Hint("write one key per line into it")
	}
	return keys, nil
}
