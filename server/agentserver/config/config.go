// Package config loads the configuration of an Agent Server from the same sources
// as the reference: defaults, a JSON file, OH_* variables and flags, each of which
// overrides the one before (docs/openhands/sdk-wire.md section 1,
// docs/openhands/sdk-wire-1.58.md section D.1).
//
// # Usage
//
//	type command struct {
//		config.Flags `embed:""`
//	}
//
//	loaded, err := config.Load(os.Environ(), c.Flags)
//	for _, w := range loaded.Warnings { log.Warn("configuration", "warning", w) }
//	ring, err := loaded.Ring()
//	listener, err := net.Listen(loaded.Network(), loaded.Address())
//
// # The variables
//
// The variable of a field is OH_ and the field's name in capitals: OH_WEB_URL.
// Nested names are joined by underscores, list items count from 0:
// OH_WEBHOOKS_0_BASE_URL. A list or an object can be one variable with JSON, and
// single items can be overridden by variables of their own; a list's variable can
// also be the number of its items. OH_<FIELD>_IS_NONE=1 removes the file's value.
//
// # Concurrency and failure
//
// A Config does not change after it was loaded and is safe for concurrent use. An
// invalid value is an error of kind fault.Invalid that names the field and never
// the value, which may be a secret. Unknown fields and variables are warnings. A
// server without keys on an address that others can reach is refused
// (CVE-2026-112346).
package config

import (
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/llm"
)

// Config is the configuration of a server. The tags have the names in the file
// and, in capitals after OH_, of the variables. Fields described as "no effect"
// are accepted because the reference has them.
type Config struct {
	// SessionAPIKeys are the keys that clients send; without any the server
	// answers to this machine only.
	SessionAPIKeys []llm.Secret `json:"session_api_keys"`
	// AllowCORSOrigins and AllowCORSOriginRegex are pages that may use the server,
	// beside pages of this machine.
	AllowCORSOrigins     []string `json:"allow_cors_origins"`
	AllowCORSOriginRegex *string  `json:"allow_cors_origin_regex"`

	ConversationsPath        string `json:"conversations_path"`
	WorkspacePath            string `json:"workspace_path"`
	ConversationWorktreeRoot string `json:"conversation_worktree_root"`
	BashEventsDir            string `json:"bash_events_dir"`
	// BashEventsRetentionSeconds is how long they are kept; nil for always.
	BashEventsRetentionSeconds *int `json:"bash_events_retention_seconds" above:"0"`
	// StaticFilesPath is a directory to serve below /static.
	StaticFilesPath *string `json:"static_files_path"`

	Webhooks               []Webhook     `json:"webhooks"`
	RegisteredMarketplaces []Marketplace `json:"registered_marketplaces"`

	// MaxConcurrentRuns bounds conversations that work at one time; the
	// default is [Runs].
	MaxConcurrentRuns int `json:"max_concurrent_runs" min:"1"`
	// SecretKey seals stored secrets; PreviousSecretKeys open older ones.
	SecretKey          llm.Secret   `json:"secret_key"`
	PreviousSecretKeys []llm.Secret `json:"previous_secret_keys"`

	// WebURL is where the server is reached from outside.
	WebURL *string `json:"web_url"`
	// TrustForwardedHeaders accepts X-Forwarded-* headers of any peer.
	TrustForwardedHeaders bool `json:"trust_forwarded_headers"`
	// DeferredInit makes the server wait for POST /api/init.
	DeferredInit bool `json:"deferred_init"`

	// LeaseTTLSeconds has no effect: conversations are locked by the operating
	// system, and such locks do not expire.
	LeaseTTLSeconds float64 `json:"lease_ttl_seconds" min:"0"`
	// ConversationIdleTTLSeconds is how long an idle conversation stays in
	// memory, and its container runs; nil for ever.
	ConversationIdleTTLSeconds *float64 `json:"conversation_idle_ttl_seconds" above:"0"`

	EnableVSCode   bool    `json:"enable_vscode"`
	VSCodePort     int     `json:"vscode_port" min:"1" max:"65535"`
	VSCodeBasePath *string `json:"vscode_base_path"`
	// PreloadTools has no effect: tools are part of the program.
	PreloadTools  bool `json:"preload_tools"`
	EnableBrowser bool `json:"enable_browser"`

	AppBackendPublicURL *string   `json:"app_backend_public_url"`
	ACPSkillSourcing    string    `json:"acp_skill_sourcing" oneof:"native openhands_managed"`
	Telemetry           Telemetry `json:"telemetry"`
	// ConversationRuntime is docker for a container per conversation, as
	// --sandbox docker.
	ConversationRuntime string `json:"conversation_runtime" oneof:"local docker"`
	DockerRuntime

	blankSecretKey bool // a blank one was configured
}

// DockerRuntime are the settings of the Docker runtime.
type DockerRuntime struct {
	ConversationRuntimeSelectable       bool     `json:"conversation_runtime_selectable"`
	ConversationImage                   string   `json:"conversation_image"`
	ConversationImageHasBrowser         *bool    `json:"conversation_image_has_browser"`
	ConversationContainerMemory         *string  `json:"conversation_container_memory"`
	ConversationContainerCPUs           *float64 `json:"conversation_container_cpus" above:"0"`
	ConversationContainerPidsLimit      *int     `json:"conversation_container_pids_limit" above:"0"`
	ConversationContainerStartupTimeout float64  `json:"conversation_container_startup_timeout" above:"0"`
	ConversationStorageDiskBudget       *float64 `json:"conversation_storage_disk_budget" above:"0" below:"1"`
	ConversationStorageRetentionDays    *float64 `json:"conversation_storage_retention_days" above:"0"`
}

// Webhook is an endpoint that events are posted to (docs/openhands/sdk-wire.md
// section 11). Times are in seconds.
type Webhook struct {
	BaseURL string                `json:"base_url"`
	Headers map[string]llm.Secret `json:"headers"`
	// EventBufferSize is how many events make a batch (5).
	EventBufferSize int `json:"event_buffer_size" min:"1"`
	// FlushDelay is how long an event waits for others (30).
	FlushDelay float64 `json:"flush_delay" above:"0"`
	NumRetries int     `json:"num_retries" min:"0"` // 3
	// RetryDelay is the pause before a retry (5).
	RetryDelay float64 `json:"retry_delay" min:"0"`
	// MaxQueueSize has no effect: events wait in the event store.
	MaxQueueSize int `json:"max_queue_size" min:"1"`
	// MaxBatchBytes bounds a request; a larger event is sent alone (5 MiB).
	MaxBatchBytes int `json:"max_batch_bytes" min:"1"`
	// MaxQueueBytes bounds the states that were not delivered (50 MiB).
	MaxQueueBytes int `json:"max_queue_bytes" min:"1"`
}

// DefaultWebhook returns a webhook with the defaults of its settings.
func DefaultWebhook() Webhook {
	return Webhook{
		EventBufferSize: 5, FlushDelay: 30, NumRetries: 3, RetryDelay: 5,
		MaxQueueSize: 1000, MaxBatchBytes: 5 << 20, MaxQueueBytes: 50 << 20,
	}
}

// preset implements presetter.
func (w *Webhook) preset() { *w = DefaultWebhook() }

// Marketplace is a source of plugins and skills.
type Marketplace struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"`
	Ref      *string `json:"ref"`
	RepoPath *string `json:"repo_path"`
	// AutoLoad is a truth value or a list of names.
	AutoLoad any `json:"auto_load"`
}

// preset implements presetter.
func (m *Marketplace) preset() { *m = Marketplace{AutoLoad: false} }

// Telemetry has no effect: this server sends no telemetry.
type Telemetry struct {
	DeploymentKind  string      `json:"deployment_kind" oneof:"local remote"`
	Exporter        string      `json:"exporter" oneof:"none posthog http"`
	PosthogAPIKey   *llm.Secret `json:"posthog_api_key"`
	PosthogHost     string      `json:"posthog_host"`
	HTTPEndpoint    *string     `json:"http_endpoint"`
	HTTPToken       *llm.Secret `json:"http_token"`
	Salt            *llm.Secret `json:"salt"`
	MaxQueueSize    int         `json:"max_queue_size" min:"1"`
	EventBufferSize int         `json:"event_buffer_size" min:"1"`
	FlushDelay      float64     `json:"flush_delay" above:"0"`
	NumRetries      int         `json:"num_retries" min:"0"`
	RetryDelay      float64     `json:"retry_delay" min:"0"`
}

// Default returns the default configuration.
func Default() *Config {
	ttl, cpus, pids, memory := 1200.0, 2.0, 512, "4g"
	return &Config{
		ConversationsPath: "workspace/conversations", WorkspacePath: "workspace/project",
		ConversationWorktreeRoot: "/tmp/conversation-worktrees", BashEventsDir: "workspace/bash_events",
		MaxConcurrentRuns: Runs(), LeaseTTLSeconds: 45, ConversationIdleTTLSeconds: &ttl,
		EnableVSCode: true, VSCodePort: 8001, PreloadTools: true, EnableBrowser: true,
		ACPSkillSourcing: "native", ConversationRuntime: "local",
		Telemetry: Telemetry{
			DeploymentKind: "local", Exporter: "none", PosthogHost: "https://us.i.posthog.com",
			MaxQueueSize: 1000, EventBufferSize: 20, FlushDelay: 30, NumRetries: 2, RetryDelay: 5,
		},
		DockerRuntime: DockerRuntime{
			ConversationImage:           "ghcr.io/openhands/agent-server:latest-python",
			ConversationContainerMemory: &memory, ConversationContainerCPUs: &cpus,
			ConversationContainerPidsLimit: &pids, ConversationContainerStartupTimeout: 120,
		},
	}
}

// Data are the absolute paths of the server's own directories, in which no
// conversation may work: conversations, settings and secrets, saved workspaces,
// clients' commands.
func (l *Loaded) Data() []string {
	return absolute(l.ConversationsPath, filepath.Join(l.ConversationsPath, "..", ".openhands"), l.PersistenceDir, l.BashEventsDir)
}

// Private are the absolute paths that no sandbox shows: [Loaded.Data], the files
// with settings and keys, files served to browsers, and the directories below which
// conversations have their workspaces and worktrees. A sandbox shows the workspace
// of its own conversation there.
func (l *Loaded) Private() []string {
	paths := append([]string{l.WorkspacePath, l.ConversationWorktreeRoot}, l.files...)
	if l.StaticFilesPath != nil {
		paths = append(paths, *l.StaticFilesPath)
	}
	return append(l.Data(), absolute(paths...)...)
}

// absolute makes the paths that are not empty absolute.
func absolute(paths ...string) []string {
	out := slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	for i, p := range out {
		if abs, err := filepath.Abs(p); err == nil { // else there is no working directory
			out[i] = abs
		}
	}
	return out
}
