package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/cli/doctor"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session/build"
)

// doctorCmd shows what works here.
type doctorCmd struct {
	Sandbox string   `help:"Isolation to look at: auto, namespaces, landlock or none; or docker, a container." enum:"auto,namespaces,landlock,none,docker,remote" default:"auto" env:"DEFT_SANDBOX"`
	Image   string   `help:"Image to try with --sandbox docker (default: that of deft run)." placeholder:"IMAGE" env:"DEFT_IMAGE"`
	Read    []string `help:"As for deft run: whether toolchains and caches are visible is tried with it." placeholder:"DIR" type:"path" env:"DEFT_READ" sep:":"`
	Write   []string `help:"As for deft run." placeholder:"DIR" type:"path" env:"DEFT_WRITE" sep:":"`
	JSON    bool     `name:"json" help:"Print as a JSON object."`
}

// Help is shown by deft doctor --help.
func (c *doctorCmd) Help() string {
	return `Looks at the data directory, the disk, user namespaces, the model and its key (no request is made, no key is
shown), programs, toolchains, caches and proxies. It starts a sandbox, tries in it what must be forbidden, and whether
commands can use the toolchains and caches.

A check is ok (✓), a warning (!) or failed (✗).

With --sandbox docker it describes the engine and starts a container of --image, which must be there.

Exit codes: 0 nothing failed, 1 the sandbox or bash does not work, 2 the model is not known
or the data directory is a file, 5 the key is missing, 7 the store is damaged or the disk is full.`
}

// Run looks at everything and really tries what must be forbidden.
func (c *doctorCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.env)
	if err != nil {
		return err
	}
	host := doctor.Host{Data: p.data, Env: std.env, Root: os.Geteuid() == 0, Model: defaultModel(ctx, std)}
	store, err := openStore(ctx, p)
	if err == nil {
		defer store.Close()
	}
	host.Store, host.StoreError = store, err
	rules := workspacedir.Rules{Home: std.env("HOME"), Data: append(userDirs(std.env), p.data)}
	var tried triedSandbox
	if tried.grants.Readable, err = rules.Granted("--read", c.Read); err != nil {
		return err
	}
	if tried.grants.Writable, err = rules.Granted("--write", c.Write); err != nil {
		return err
	}
	if c.Image != "" && c.Sandbox != build.DockerSandbox {
		return fault.New(fault.Invalid, "--image is for containers").Hint("add --sandbox docker")
	}
	if c.Sandbox == build.DockerSandbox {
		if len(c.Read)+len(c.Write) > 0 {
			return fault.New(fault.Invalid, "--read and --write are tried in the built-in sandbox only").Hint("leave them out, or --sandbox docker")
		}
		containers, err := docker.New(docker.Options{Dir: filepath.Join(p.sandboxes(), build.DockerSandbox)})
		if err != nil {
			return err
		}
		defer containers.Close()
		t := triedContainer{containers, c.Image}
		host.Sandbox, host.Engine = t, t
	} else {
		tried.Provider, host.SandboxError = process.New(process.Options{Dir: p.sandboxes(), Level: c.Sandbox, Hidden: []string{p.data}})
		if host.SandboxError == nil {
			defer tried.Close()
			host.Layers = tried
		}
		host.Sandbox = tried
	}
	report := doctor.Examine(ctx, host)
	if c.JSON {
		err = printJSON(std, report)
	} else {
		err = report.Print(std.out, std.color(std.outTTY))
	}
	if code := report.ExitCode(); err == nil && code != 0 {
		return runcommand.Exit(code)
	}
	return err
}

// defaultModel finds the LLM that is used without flags. It makes no request.
func defaultModel(ctx context.Context, std *streams) (m doctor.Model) {
	if m.Name = std.env("LLM_MODEL"); m.Name != "" {
		m.OwnServer = std.env("LLM_BASE_URL") != ""
		m.KeyVariables = keyVariables(m.Name)
		for _, name := range m.KeyVariables {
			if std.env(name) != "" {
				m.KeySet = cmp.Or(m.KeySet, name)
			}
		}
		_, m.Err = route.New(llm.Config{Model: m.Name, BaseURL: std.env("LLM_BASE_URL")})
		return m
	}
	usual, err := assigned(std)
	if m.Profile = usual.Agent(agentClass); err != nil || m.Profile == "" {
		m.Err = err
		return m
	}
	model, err := (&llmTestCmd{modelFlags: modelFlags{Profile: m.Profile}}).model(ctx, std)
	if err != nil {
		m.Err = err
		return m
	}
	m.Name = model.Info().Name
	return m
}

// triedSandbox is a provider as the doctor tries it.
type triedSandbox struct {
	*process.Provider
	grants sandbox.Spec
}

// Doctor implements [doctor.Sandbox].
func (t triedSandbox) Doctor(ctx context.Context) (sandbox.Report, []doctor.Attempt, error) {
	rep, checks, err := t.Provider.Doctor(ctx)
	var attempts []doctor.Attempt
	for _, c := range checks {
		attempts = append(attempts, doctor.Attempt(c))
	}
	return rep, attempts, err
}

// Access implements [doctor.Sandbox].
func (t triedSandbox) Access(ctx context.Context, paths []string) (found []doctor.Access, err error) {
	all, err := t.Provider.Access(ctx, t.grants, paths)
	for _, a := range all {
		found = append(found, doctor.Access(a))
	}
	return found, err
}

// CacheLayers implements [doctor.Layers].
func (t triedSandbox) CacheLayers(ctx context.Context) (found []doctor.Layer, err error) {
	all, err := t.Caches(ctx)
	for _, c := range all {
		found = append(found, doctor.Layer{Workspace: c.Workspace, Dir: c.Dir, Bytes: c.Bytes})
	}
	return found, err
}
