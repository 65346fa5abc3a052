package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/deft-dev/deft/cli/doctor"
	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/sandbox"
)

// doctorCmd checks this machine.
type doctorCmd struct {
	Sandbox string   `help:"Isolation to look at: ${doctor_choice_help}." enum:"${sandbox_choices}" default:"auto" env:"DEFT_SANDBOX"`
	Image   string   `help:"Image to try with --sandbox ${doctor_image_classes} (default: deft run's)." placeholder:"IMAGE" env:"DEFT_IMAGE"`
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

// Run looks at everything and really tries everything that must be forbidden.
func (c *doctorCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	host := doctor.Host{Data: p.data, Env: std.Env, Root: os.Geteuid() == 0, Model: defaultModel(ctx, std)}
	store, err := openStore(ctx, p)
	if err == nil {
		defer store.Close()
	}
	host.Store, host.StoreError = store, err
	rules := workspacedir.Rules{Home: std.Env("HOME"), Data: append(userDirs(std.Env), p.data)}
	var tried doctor.Trial
	if tried.Grants.Readable, err = rules.Granted("--read", c.Read); err != nil {
		return err
	}
	if tried.Grants.Writable, err = rules.Granted("--write", c.Write); err != nil {
		return err
	}
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if err == nil {
		err = sandboxClasses().Refuse(chosen, sandbox.Asked{Feature: sandbox.FeatureImage, Settings: []string{"--image"}, Given: c.Image != ""})
	}
	if err != nil {
		return err
	}
	class := chosen.Class
	provider, err := class.New(sandbox.Config{Dir: class.DirIn(p.sandboxes()), Level: chosen.Level, Hidden: []string{p.data}})
	if host.SandboxError = err; err == nil {
		if closer, ok := provider.(io.Closer); ok {
			defer closer.Close()
		}
		if _, ok := provider.(sandbox.AccessProber); !ok && len(c.Read)+len(c.Write) > 0 {
			return fault.New(fault.Invalid, "--read and --write are tried in the built-in sandbox only").Hint("leave them out, or --sandbox " + c.Sandbox)
		}
		tried.Provider = provider
		if class.Has(sandbox.FeatureImage) {
			tried.Container = sandbox.Container{Image: c.Image, Pull: sandbox.PullNever}
		}
		host.Sandbox = tried
		host.Layers, _ = provider.(sandbox.CacheLister)
		host.Engine, _ = provider.(sandbox.Describer)
	}
	report := doctor.Examine(ctx, host)
	if c.JSON {
		err = std.PrintJSON(report)
	} else {
		err = report.Print(std.Out, std.Color(std.OutTTY))
	}
	if code := report.ExitCode(); err == nil && code != 0 {
		return runcommand.Exit(code)
	}
	return err
}

// defaultModel finds the LLM that is used without flags. It makes no request.
func defaultModel(ctx context.Context, std *streams) (m doctor.Model) {
	if m.Name = std.Env("LLM_MODEL"); m.Name != "" {
		m.OwnServer = std.Env("LLM_BASE_URL") != ""
		m.KeyVariables = modelchoice.KeyVariables(m.Name)
		for _, name := range m.KeyVariables {
			if std.Env(name) != "" {
				m.KeySet = cmp.Or(m.KeySet, name)
			}
		}
		_, m.Err = route.New(llm.Config{Model: m.Name, BaseURL: std.Env("LLM_BASE_URL")})
		return m
	}
	source := modelchoice.New(std.Env, std.tell)
	usual, err := source.Assigned()
	if m.Profile = usual.Agent(modelchoice.AgentClass); err == nil && m.Profile == "" && std.Env("LLM_BASE_URL") == "" {
		usual := route.Usual(std.Env)
		m.Name, m.KeySet, m.Lacks = usual.Model, usual.Variable, usual.Missing
		if m.Name != "" {
			m.KeyVariables = modelchoice.KeyVariables(m.Name)
		}
		return m
	}
	if err != nil || m.Profile == "" {
		m.Err = err
		return m
	}
	model, err := source.Single(ctx, &modelchoice.Flags{Profile: m.Profile})
	if err != nil {
		m.Err = err
		return m
	}
	m.Name = model.Info().Name
	return m
}
