package config

import (
	"reflect"
	"strings"

	"github.com/deft-dev/deft/sandbox"
)

// Flags is the command line of `deft serve`, for kong. Its values are texts in the form
// of variables; nil leaves a setting to the other sources. A secret is never a flag:
// other users of the machine can read command lines.
type Flags struct {
	Config          string `help:"TOML file with settings; see deft config example (default: /etc/deft/deft.toml, then ~/.config/deft/deft.toml)." placeholder:"FILE" type:"path" env:"DEFT_CONFIG"`
	OpenHandsConfig string `name:"openhands-config" help:"OpenHands' config.toml, whose settings count after Deft's own files." placeholder:"FILE" type:"path" env:"DEFT_OPENHANDS_CONFIG"`

	Address       *string         `setting:"server.address" help:"Address to listen on; port 0 takes a free one (default: 127.0.0.1:3000)." placeholder:"HOST:PORT"`
	PublicURL     *string         `setting:"server.public_url" name:"public-url" help:"Address at which browsers and sandboxes reach the server, where it is another." placeholder:"URL"`
	TLSCert       *string         `setting:"server.tls_certificate" name:"tls-cert" help:"File with a certificate; the server then speaks HTTPS." placeholder:"FILE"`
	TLSKey        *string         `setting:"server.tls_key" name:"tls-key" help:"File with the certificate's key." placeholder:"FILE"`
	TrustedProxy  []string        `setting:"server.trusted_proxies" name:"trusted-proxy" help:"Network of a proxy whose X-Forwarded headers count. May be repeated." placeholder:"CIDR"`
	DatabaseFile  *string         `setting:"database.url_file" name:"database-url-file" help:"File with the address of a PostgreSQL database. As a variable: DEFT_DATABASE_URL (default: SQLite in the data directory)." placeholder:"FILE"`
	Sandbox       *string         `setting:"sandbox.class" help:"Isolation of the agents' actions: ${sandbox_classes} (default: process)." placeholder:"CLASS"`
	Image         *string         `setting:"sandbox.image" help:"Image for --sandbox ${image_classes}; any image will do (default for ${default_images})." placeholder:"IMAGE"`
	Pull          *string         `setting:"sandbox.pull" help:"When the image is fetched: missing, always or never." placeholder:"WHEN"`
	OCIRuntime    *string         `setting:"sandbox.oci_runtime" name:"oci-runtime" help:"Runtime of containers, for example runsc for gVisor." placeholder:"NAME"`
	Net           sandbox.Network `setting:"sandbox.net" help:"Hosts that commands may reach: every public host (--net), these hosts, the registries of go, npm, pypi, cargo, maven or debian (--net=go,npm) or none (default)." placeholder:"HOSTS"`
	Read          []string        `setting:"sandbox.read" help:"Directory outside the workspaces that commands may read. May be repeated." placeholder:"DIR" sep:"none"`
	Write         []string        `setting:"sandbox.write" help:"Directory outside the workspaces that commands may change. May be repeated." placeholder:"DIR" sep:"none"`
	Mount         []string        `setting:"sandbox.mounts" help:"Directory or volume that containers have as well. May be repeated." placeholder:"SOURCE:TARGET[:MODE]" sep:"none"`
	Memory        *string         `setting:"sandbox.memory" help:"Memory of each sandbox, for example 8G, or none for no limit." placeholder:"SIZE"`
	Disk          *string         `setting:"sandbox.disk" help:"How much each container may write beside the workspace and mounts." placeholder:"SIZE"`
	Pids          *string         `setting:"sandbox.pids" help:"Processes and threads of each sandbox; -1 for no limit." placeholder:"N"`
	CPUs          *string         `setting:"sandbox.cpus" name:"cpus" help:"Processors of each sandbox." placeholder:"N"`
	Grouping      *string         `setting:"sandbox.grouping" name:"sandbox-grouping" help:"Where a conversation is placed that names no sandbox: NO_GROUPING (a new one, the default), GROUP_BY_NEWEST, LEAST_RECENTLY_USED, FEWEST_CONVERSATIONS or ADD_TO_ANY." placeholder:"STRATEGY"`
	MaxSandboxes  *string         `setting:"sandbox.max_per_user" name:"max-sandboxes" help:"Sandboxes that a user may have; 0 for no limit (default)." placeholder:"N"`
	Warm          *string         `setting:"sandbox.warm" name:"warm" help:"Sandboxes that are started before there is a conversation, and wait for one (default: none)." placeholder:"N"`
	RuntimeAPI    *string         `setting:"sandbox.runtime_api" name:"runtime-api" help:"Address of the Runtime API for --sandbox remote." placeholder:"URL"`
	RuntimeKeyEnv *string         `setting:"sandbox.runtime_api_key_env" name:"runtime-api-key-env" help:"Name of the variable with the key for it (default: DEFT_RUNTIME_API_KEY)." placeholder:"NAME"`
	Executor      *string         `setting:"classes.executor" help:"Program that executes actions in sandboxes beside the built-in tools, as exec:PATH, or a class that is linked in." placeholder:"exec:PATH"`
	MaxPerUser    *string         `setting:"conversations.max_per_user" name:"max-per-user" help:"Conversations that a user may have at work when another one starts; 0 for no limit (default)." placeholder:"N"`
	MaxRunning    *string         `setting:"conversations.max_running" name:"max-running" help:"Conversations of all users that may run at one time (default: as this machine allows)." placeholder:"N"`
	IdleTimeout   *string         `setting:"conversations.idle_timeout" name:"idle-timeout" help:"Time without use after which a conversation is unloaded from memory and its container paused; 0 for never (default: 20m)." placeholder:"TIME"`
	Checkpoints   *string         `setting:"conversations.checkpoints" help:"When the files are kept so that a conversation can be forked or rewound with them: turn, before the first action after a message; step, before the actions of each answer too (default); or off." placeholder:"WHEN"`
	FilesURL      *string         `setting:"files.url" name:"files-url" help:"Directory or bucket of the archives of workspaces (default: files in the data directory)." placeholder:"URL"`
	LogLevel      *string         `setting:"log.level" name:"log-level" help:"From which level on lines are logged: debug, info (default), warn or error." placeholder:"LEVEL"`
	LogFormat     *string         `setting:"log.format" name:"log-format" help:"Form of the log: text (default) or json." placeholder:"FORMAT"`
}

// given yields the flags of the command line by the keys of their settings, as texts or
// lists of texts.
func (f Flags) given(yield func(key, flag string, value any)) {
	v := reflect.ValueOf(f)
	for _, field := range reflect.VisibleFields(v.Type()) {
		key := field.Tag.Get("setting")
		if key == "" {
			continue
		}
		switch value := v.FieldByIndex(field.Index).Interface().(type) {
		case *string:
			if value != nil {
				yield(key, flagName(field), *value)
			}
		case sandbox.Network:
			if value != "" {
				yield(key, flagName(field), string(value))
			}
		case []string:
			if value != nil {
				yield(key, flagName(field), value)
			}
		}
	}
}

// flagNames returns the flag of each setting that has one.
func flagNames() map[string]string {
	out := map[string]string{"data": "--data"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Flags]()) {
		if key := field.Tag.Get("setting"); key != "" {
			out[key] = flagName(field)
		}
	}
	return out
}

func flagName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return "--" + name
	}
	return "--" + strings.ToLower(field.Name)
}
