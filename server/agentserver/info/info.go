// Package info serves the server's description and health: /alive, /health,
// /ready, /server_info, the root, and files below /static.
//
// # Usage
//
//	s, err := info.New(info.Options{Uptime: server.Uptime, Tools: names, …})
//	routes = append(routes, s.Routes()...)
//	defer s.Close()
//
// # The version
//
// Clients take "version" for the version of the contract: user interfaces enable
// features by it and refuse anything but X.Y.Z. So it and the versions of the
// reference's packages are [Contract], the release whose contract this server
// follows. The program's own version is in "deft_version", which clients ignore.
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Links out of the directory of static files
// are not followed.
package info

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/server/rest"
)

// Contract is the release of the reference whose contract the server follows.
const Contract = "1.58.0"

// Options have the facts of a [Service]'s answers.
type Options struct {
	// Uptime returns how long the server has run, and the time since its last
	// request.
	Uptime func() (up, idle time.Duration)
	// Ready reports whether the server is ready; nil for always.
	Ready func() bool
	// Version is the program's own.
	Version string
	// Tools are the names of tools that agents can use here.
	Tools []string
	// Capabilities are the implemented ones of [Capabilities].
	Capabilities []string
	// Runtime is the runtime of conversations whose request chooses none, "local" if
	// empty; Runtimes are the ones that requests may choose, none if there is but one.
	Runtime  string
	Runtimes []string
	// Static is a directory to serve below /static; "" for none. It need not
	// exist.
	Static string
	// Env returns a variable of the process; nil takes os.Getenv.
	Env func(string) string
}

// Capabilities are the features that a server can advertise, in the reference's
// order (docs/openhands/sdk-wire-1.58.md section C.3). User interfaces show
// features by them.
var Capabilities = []string{
	"conversation_runtime_routes_v1", "profile_secret_scope_v1", "profile_persona_v1", "credential_binding_v1",
	"credential_binding_readiness_probe_v1", "credential_binding_activation_guard_v1", "idempotent_conversation_create_v1",
	"tool_catalog_v1", "agent_profile_draft_materialize_v1", "agent_launch_pipeline_v1", "profile_public_skills_v1",
	"skill_catalog_v1", "canvas_app_backend_bridge_v1",
}

// tools are the reference's, in its order.
var tools = []string{
	"ClassifyAndSwitchLLMTool", "ask_oracle", "file_editor", "task_tool_set", "task", "task_tracker", "terminal",
	"workflow_tool_set", "workflow", "start_child_conversation", "browser_tool_set", "edit", "list_directory",
	"read_file", "write_file", "glob", "grep", "planning_file_editor",
}

// ordered returns names in the order of known ones, others after them.
func ordered(names, known []string) []string {
	place := func(name string) int {
		if i := slices.Index(known, name); i >= 0 {
			return i
		}
		return len(known)
	}
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int { return place(a) - place(b) })
	return append([]string{}, slices.Compact(out)...)
}

// Service serves the routes. Make one with [New].
type Service struct {
	o      Options
	static *os.Root // nil for none
	index  bool     // there is an index.html
}

// New returns a service. A static directory that exists and cannot be opened is an
// error.
func New(o Options) (*Service, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	o.Tools, o.Capabilities = ordered(o.Tools, tools), ordered(o.Capabilities, Capabilities)
	s := &Service{o: o}
	if !isDir(o.Static) {
		return s, nil
	}
	root, err := os.OpenRoot(o.Static)
	if err != nil {
		return nil, fmt.Errorf("serve static files: %w", err)
	}
	_, err = root.Stat("index.html")
	s.static, s.index = root, err == nil
	return s, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Close ends the service.
func (s *Service) Close() error {
	if s.static == nil {
		return nil
	}
	return s.static.Close()
}

// Info is the answer of /server_info. Times are whole seconds.
type Info struct {
	Uptime               seconds  `json:"uptime"`
	IdleTime             seconds  `json:"idle_time"`
	Title                string   `json:"title"`
	Version              string   `json:"version"`
	SDKVersion           string   `json:"sdk_version"`
	ToolsVersion         string   `json:"tools_version"`
	WorkspaceVersion     string   `json:"workspace_version"`
	BuildGitSHA          string   `json:"build_git_sha"`
	BuildGitRef          string   `json:"build_git_ref"`
	PythonVersion        string   `json:"python_version"`
	UsableTools          []string `json:"usable_tools"`
	RuntimeIdleTimeout   *float64 `json:"runtime_idle_timeout_seconds"`
	ConversationRuntime  string   `json:"conversation_runtime"`
	AvailableRuntimes    []string `json:"available_conversation_runtimes"`
	Capabilities         []string `json:"capabilities"`
	AppBackendIngressURL *string  `json:"app_backend_ingress_url"`
	MaxForegroundTimeout *float64 `json:"max_foreground_terminal_timeout_seconds"`
	Docs                 string   `json:"docs"`
	Redoc                string   `json:"redoc"`
	DeftVersion          string   `json:"deft_version"`
}

// seconds are written as the reference writes them, 12.0.
type seconds int64

// MarshalJSON implements [json.Marshaler].
func (s seconds) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendInt(nil, int64(s), 10), ".0"...), nil
}

// Info describes the server.
func (s *Service) Info() Info {
	up, idle := s.o.Uptime()
	sha := s.o.Env("OPENHANDS_BUILD_GIT_SHA")
	i := Info{
		Uptime: seconds(up / time.Second), IdleTime: seconds(idle / time.Second), Title: "OpenHands Agent Server",
		Version: Contract, SDKVersion: Contract, ToolsVersion: Contract, WorkspaceVersion: Contract,
		BuildGitSHA: orUnknown(sha), BuildGitRef: orUnknown(s.o.Env("OPENHANDS_BUILD_GIT_REF")),
		PythonVersion: "none (deft " + s.o.Version + ", " + runtime.Version() + ")",
		UsableTools:   s.o.Tools, ConversationRuntime: cmp.Or(s.o.Runtime, "local"), AvailableRuntimes: append([]string{}, s.o.Runtimes...), Capabilities: s.o.Capabilities,
		Docs: "/docs", Redoc: "/redoc", DeftVersion: s.o.Version,
	}
	if t, err := strconv.ParseFloat(strings.TrimSpace(s.o.Env("OH_RUNTIME_IDLE_TIMEOUT_SECONDS")), 64); err == nil && t > 0 && t < 1e15 {
		most := t * 0.9 // docs/openhands/sdk-wire.md section 1
		i.RuntimeIdleTimeout, i.MaxForegroundTimeout = &t, &most
	}
	return i
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Routes returns the operations. They answer while a server waits for its
// deferred initialisation too.
func (s *Service) Routes() []rest.Route {
	const tag = "Server Details"
	routes := []rest.Route{
		{Method: "GET", Path: "/alive", Tag: tag, Dormant: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.well},
		{Method: "GET", Path: "/health", Tag: tag, Dormant: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.well},
		{Method: "GET", Path: "/ready", Tag: tag, Dormant: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.ready},
		{Method: "GET", Path: "/server_info", Tag: tag, Dormant: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.info},
		{Method: "GET", Path: "/{$}", Tag: tag, Dormant: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.root},
	}
	if s.static != nil {
		routes = append(routes, rest.Route{
			Method: "GET", Path: "/static/{path...}", Dormant: true, Hidden: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.file,
		})
	}
	return routes
}

var well = []byte(`{"status":"ok"}`)

func (s *Service) well(w http.ResponseWriter, _ *http.Request) error {
	return rest.Bytes(w, http.StatusOK, well)
}

func (s *Service) ready(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Ready == nil || s.o.Ready() {
		return rest.JSON(w, http.StatusOK, map[string]string{"status": "ready"})
	}
	return rest.JSON(w, http.StatusServiceUnavailable, map[string]string{
		"status": "initializing", "message": "Server is still initializing",
	})
}

func (s *Service) info(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, s.Info())
}

func (s *Service) root(w http.ResponseWriter, r *http.Request) error {
	switch {
	case s.static == nil:
		return s.info(w, r)
	case s.index:
		http.Redirect(w, r, "/static/index.html", http.StatusFound)
	default:
		http.Redirect(w, r, "/static/", http.StatusFound)
	}
	return nil
}

// file serves a file below /static.
func (s *Service) file(w http.ResponseWriter, r *http.Request) error {
	f, err := s.static.Open(r.PathValue("path"))
	if err != nil {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	http.ServeContent(w, r, info.Name(), info.ModTime(), f)
	return nil
}
