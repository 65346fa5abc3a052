package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/internal/runcommand"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// doctorCmd shows what works here.
type doctorCmd struct {
	Sandbox string `help:"Isolation to look at: auto, namespaces, landlock or none." enum:"auto,namespaces,landlock,none" default:"auto" env:"DEFT_SANDBOX"`
	JSON    bool   `name:"json" help:"Print as a JSON object."`
}

// diagnosis is what doctor found.
type diagnosis struct {
	Data      string          `json:"data"`
	Store     string          `json:"store"`                // "ok", or what is wrong
	Model     string          `json:"model"`                // as LLM_MODEL has it, or the agent's profile
	Profile   string          `json:"profile,omitempty"`    // the agent's, where LLM_MODEL is not set
	OwnServer bool            `json:"own_server,omitempty"` // LLM_BASE_URL is set
	ModelOK   bool            `json:"model_ok"`             // whether this build knows how to reach it
	Problem   string          `json:"model_problem,omitempty"`
	Key       string          `json:"key_from,omitempty"` // the variable that holds the key; never the key
	Keys      []string        `json:"key_variables,omitempty"`
	Tools     []program       `json:"tools"`
	Sandbox   *sandbox.Report `json:"sandbox,omitempty"`
	Checks    []process.Check `json:"checks,omitempty"`
	Trouble   string          `json:"sandbox_problem,omitempty"`
	TookMS    float64         `json:"sandbox_start_ms,omitempty"`
	Machine   machine         `json:"machine"`

	noKey bool // what is wrong with the model is its key
}

// Run looks at everything and really tries what must be forbidden.
func (c *doctorCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.env)
	if err != nil {
		return err
	}
	d := diagnosis{Data: p.data, Store: "ok", Machine: lookAround(p.data, std.env)}
	if err := checkStore(ctx, p); err != nil {
		d.Store = withHint(err)
	}
	d.checkModel(ctx, std)
	for _, t := range []program{
		{"bash", "", "the terminal tool needs it"}, {"git", "", "diffstats; agents use it"}, {"rg", "", "faster searches; optional"},
	} {
		if path, err := exec.LookPath(t.Name); err == nil {
			t.Path = path
		}
		d.Tools = append(d.Tools, t)
	}
	c.probe(ctx, p, &d)
	if c.JSON {
		err = printJSON(std, d)
	} else {
		d.print(std)
	}
	if err != nil {
		return err
	}
	return d.verdict()
}

// checkModel looks at the variables that choose the LLM. No request is made.
func (d *diagnosis) checkModel(ctx context.Context, std *streams) {
	d.Model, d.OwnServer = std.env("LLM_MODEL"), std.env("LLM_BASE_URL") != ""
	if d.Model == "" {
		d.checkAssigned(ctx, std)
		return
	}
	if _, err := route.New(llm.Config{Model: d.Model, BaseURL: std.env("LLM_BASE_URL")}); err != nil {
		d.Problem = withHint(err)
		return
	}
	d.ModelOK = true
	d.Keys = keyVariables(d.Model)
	for _, name := range d.Keys {
		if std.env(name) != "" {
			d.Key = name
			return
		}
	}
}

// checkAssigned looks at the agent's profile. No request is made.
func (d *diagnosis) checkAssigned(ctx context.Context, std *streams) {
	usual, err := assigned(std)
	if d.Profile = usual.Agent(agentClass); err == nil && d.Profile == "" {
		return
	}
	var m llm.Model
	if err == nil {
		m, err = (&llmTestCmd{modelFlags: modelFlags{Profile: d.Profile}}).model(ctx, std)
	}
	if err != nil {
		d.Model, d.Problem, d.noKey = "profile "+d.Profile, withHint(err), fault.Is(err, fault.Auth)
		return
	}
	d.Model, d.ModelOK = m.Info().Name, true
}

func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// storeTime bounds how long the store is read for damage.
const storeTime = 10 * time.Second

// checkStore reads the store, all of it if that does not take too long.
func checkStore(ctx context.Context, p paths) error {
	s, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	q := eventstream.ListQuery{ByUpdated: true}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return unlessLate(ctx, err)
		}
		for _, i := range page.Infos {
			for _, err := range s.Read(ctx, i.ID, 1) {
				if err != nil {
					return unlessLate(ctx, fmt.Errorf("read conversation %s: %w", i.ID, err))
				}
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return nil
		}
	}
}

// unlessLate is nil where time is up: what was read until then is sound.
func unlessLate(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !fault.Is(err, fault.Corrupt) {
		return nil
	}
	return err
}

func (c *doctorCmd) probe(ctx context.Context, p paths, d *diagnosis) {
	prov, err := process.New(process.Options{Dir: p.sandboxes(), Level: c.Sandbox, Hidden: []string{p.data}})
	if err == nil {
		defer prov.Close()
		began := time.Now()
		var rep sandbox.Report
		rep, d.Checks, err = prov.Doctor(ctx)
		d.TookMS = float64(time.Since(began).Microseconds()) / 1000
		d.Sandbox = &rep
	}
	if err != nil {
		d.Sandbox, d.Trouble = nil, withHint(err)
	}
}

func (d *diagnosis) print(std *streams) {
	color := std.color(std.outTTY)
	mark := func(ok bool) string { return console.Mark(ok, color) }
	say := func(ok bool, name, text string) {
		fmt.Fprintf(std.out, "%s %-16s %s\n", mark(ok), name, console.Line(text))
	}
	say(d.Store == "ok", "data", d.Data+": "+d.Store)
	for _, r := range d.Machine.rows(os.Geteuid() == 0) {
		if r.mark == markNone {
			fmt.Fprintf(std.out, "- %-16s %s\n", r.name, console.Line(r.text))
		} else {
			say(r.mark == markGood, r.name, r.text)
		}
	}
	switch {
	case d.Model == "":
		fmt.Fprintf(std.out, "- %-16s %s\n", "model", "none is chosen: LLM_MODEL is not set, and the agent has no profile; deft demo works without")
	case d.Problem != "":
		say(false, "model", d.Problem)
	case d.Profile != "":
		say(true, "model", d.Model+" of the profile "+d.Profile)
	default:
		say(true, "model", d.Model)
		d.printKey(say)
	}
	for _, t := range d.Tools {
		text := t.Path
		if text == "" {
			text = "not found: " + t.Use
		}
		say(t.Path != "" || t.Name == "rg", t.Name, text)
	}
	if d.Sandbox == nil {
		say(false, "sandbox", d.Trouble)
		return
	}
	say(d.Sandbox.Level != "none", "sandbox", d.Sandbox.Level+": "+strings.Join(d.Sandbox.Features, ", "))
	for _, m := range d.Sandbox.Missing {
		fmt.Fprintf(std.out, "  %-16s not in force: %s\n", m.Feature, console.Line(m.Reason))
	}
	fmt.Fprintf(std.out, "  tried %d forbidden things inside:\n", len(d.Checks))
	for _, c := range d.Checks {
		fmt.Fprintf(std.out, "  %s %-20s %s\n", mark(c.OK), c.Name, console.Line(c.Detail))
	}
}

func (d *diagnosis) printKey(say func(ok bool, name, text string)) {
	switch {
	case d.Key != "":
		say(true, "key", d.Key+" is set")
	case d.keyOK():
		say(true, "key", "none is set; a server of your own may need none")
	default:
		say(false, "key", "not set: "+strings.Join(d.Keys, " and ")+" are empty")
	}
}

// keyOK reports whether a key is there where one is surely needed.
func (d *diagnosis) keyOK() bool {
	return d.Key != "" || d.Profile != "" || d.OwnServer || len(d.Keys) < 2
}

// verdict is an error if something that should hold does not; the worst
// trouble decides the code.
func (d *diagnosis) verdict() error {
	broken := d.Sandbox == nil || slices.ContainsFunc(d.Tools, func(t program) bool { return t.Path == "" && t.Name == "bash" })
	if d.Sandbox != nil && d.Sandbox.Level != process.LevelNone {
		broken = broken || slices.ContainsFunc(d.Checks, func(c process.Check) bool { return !c.OK })
	}
	switch {
	case d.Store != "ok" || d.Machine.full():
		return runcommand.Exit(fault.ExitStorage)
	case broken:
		return runcommand.Exit(fault.ExitError)
	case d.noKey:
		return runcommand.Exit(fault.ExitRefused)
	case d.Problem != "":
		return runcommand.Exit(fault.ExitUsage)
	case d.ModelOK && !d.keyOK():
		return runcommand.Exit(fault.ExitRefused)
	}
	return nil
}

// Help is shown by deft doctor --help.
func (c *doctorCmd) Help() string {
	return `Looks at the data directory, the disk, toolchains, proxies and namespaces, the model and the key that LLM_MODEL and its fellows, or the
agent's profile, choose (no request is made, no key is shown), the programs that tools use, and the sandbox: it starts one
and really tries in it what must be forbidden.

Exit codes: 0 all is well, 1 the sandbox or bash does not work, 2 the model is not known,
5 the key is missing, 7 the store is damaged or cannot be used,
or the disk is full.`
}
