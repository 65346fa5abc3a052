package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/probe"
)

// llmTestCmd tries a model.
type llmTestCmd struct {
	Name string `arg:"" optional:"" complete:"models" help:"The model, as for --model (default: LLM_MODEL, then the agent's profile)."`
	modelchoice.Flags
	Context bool          `help:"Search for the real context length with long prompts. This can cost."`
	UpTo    int           `name:"up-to" help:"Longest prompt of that search, in tokens." default:"200000" placeholder:"TOKENS"`
	Timeout time.Duration `help:"How long each question may take." default:"60s" placeholder:"TIME"`
	JSON    bool          `name:"json" help:"Print as one JSON object."`
}

// Help is shown by --help.
func (c *llmTestCmd) Help() string {
	return `Asks the model four short questions, once each: whether it answers, streams, calls a tool and
sees an image. With --context, up to 12 long prompts follow.

The exit code is 0 if the model answers, whatever else it can do.

Examples:
  deft llm test anthropic/claude-sonnet-4-5
  deft llm test openai/local --base-url http://localhost:8080/v1 --context --up-to 65536`
}

// Run tries the model.
func (c *llmTestCmd) Run(ctx context.Context, std *streams) error {
	if c.Timeout <= 0 || c.UpTo < 1024 {
		return fault.New(fault.Invalid, "--timeout must be above 0, and --up-to at least 1024").Hint("leave them out for 60s and 200000")
	}
	c.Model = cmp.Or(c.Name, c.Model)
	model, err := modelchoice.New(std.Env, std.tell).Single(ctx, &c.Flags)
	if err != nil {
		return err
	}
	o := probe.Options{Effort: c.Effort, Timeout: c.Timeout}
	if c.Context {
		o.ContextUpTo = c.UpTo
	}
	report, err := probe.Model(ctx, model, o, func(r probe.Result) error {
		if c.JSON {
			return nil
		}
		word := "fails"
		if r.OK {
			word = "works"
		}
		_, err := fmt.Fprintf(std.Out, "%-9s  %s  %s\n", r.Name, word, stdio.OneLine(r.Detail))
		return err
	})
	if err != nil {
		return err
	}
	return c.finish(std, report)
}

// finish prints the end. Why nothing works was shown as the answer's result.
func (c *llmTestCmd) finish(std *streams, r probe.Report) error {
	var err error
	switch {
	case c.JSON:
		err = std.PrintJSON(r)
	case r.Failure == nil && r.Cost == nil:
		_, err = fmt.Fprintf(std.Out, "%-9s  unknown: the price of %s is not known\n", "cost", r.Model)
	case r.Failure == nil:
		_, err = fmt.Fprintf(std.Out, "%-9s  %s\n", "cost", llm.Dollars(*r.Cost))
	}
	if r.Failure == nil || err != nil {
		return err
	}
	if hint := fault.HintOf(r.Failure); hint != "" {
		if _, err := fmt.Fprintln(std.Err, "  →", stdio.OneLine(hint)); err != nil {
			return err
		}
	}
	return runcommand.Exit(fault.KindOf(r.Failure).ExitCode())
}
