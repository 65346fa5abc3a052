package main

import (
	"context"
	"fmt"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/runcommand"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// llmTestCmd tries a model.
type llmTestCmd struct {
	Name string `arg:"" optional:"" complete:"models" help:"The model, as for --model (default: LLM_MODEL, then the agent's profile)."`
	modelFlags
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

// testJSON is what --json prints.
type testJSON struct {
	Model    string        `json:"model"`
	Provider string        `json:"provider"`
	Checks   []probeResult `json:"checks"`
	Length   *lengthJSON   `json:"context_length,omitempty"`
	// FirstToken in seconds, and the speed of the output after it; 0 if unknown.
	FirstToken      float64  `json:"first_token_seconds"`
	TokensPerSecond float64  `json:"tokens_per_second"`
	Cost            *float64 `json:"cost"` // US dollars; null: unknown
}

// Run tries the model.
func (c *llmTestCmd) Run(ctx context.Context, std *streams) error {
	if c.Timeout <= 0 || c.UpTo < 1024 {
		return fault.New(fault.Invalid, "--timeout must be above 0, and --up-to at least 1024").Hint("leave them out for 60s and 200000")
	}
	c.Model = first(c.Name, c.Model)
	model, err := c.model(ctx, std)
	if err != nil {
		return err
	}
	p := &prober{model: model, effort: c.Effort}
	out := testJSON{Model: model.Info().Name, Provider: model.Info().Provider}
	show := func(k probeResult) error {
		out.Checks = append(out.Checks, k)
		if c.JSON {
			return ctx.Err()
		}
		if err := k.print(std); err != nil {
			return err
		}
		return ctx.Err()
	}
	for _, probe := range []func(context.Context) probeResult{p.answers, p.streams, p.calls, p.sees} {
		k := c.within(ctx, probe)
		if err := show(k); err != nil {
			return err
		}
		if k.Name == "answer" && k.err != nil { // nothing else can work
			return c.finish(std, p, out, k.err)
		}
	}
	if c.Context {
		// Its questions are long: all of them together have the time of twelve.
		whole, cancel := context.WithTimeout(ctx, c.Timeout*lengthCalls)
		defer cancel()
		found, k := p.length(whole, c.UpTo)
		out.Length = &found
		if err := show(k); err != nil {
			return err
		}
	}
	return c.finish(std, p, out, nil)
}

// model opens what is to be tried, each question to be asked once.
func (c *llmTestCmd) model(ctx context.Context, std *streams) (llm.Model, error) {
	if c.Profile == "" && c.Model == "" {
		usual, err := assigned(std)
		if err != nil {
			return nil, err
		}
		c.Profile = usual.Agent(agentClass)
	}
	if err := c.checkProfile(std); err != nil {
		return nil, err
	}
	by, err := newOpener(std)
	if err != nil {
		return nil, err
	}
	once := broker.Options{Attempts: 1}
	if c.Profile == "" {
		l, err := c.document(by)
		if err != nil {
			return nil, err
		}
		l.NumRetries = once.Attempts
		return by.builder(nil, once, nil, nil).Model(ctx, l, nil)
	}
	stores, err := openProfiles(std)
	if err != nil {
		return nil, err
	}
	return by.builder(stores.LLMs, once, nil, nil).Single(ctx, c.Profile)
}

func (c *llmTestCmd) within(ctx context.Context, probe func(context.Context) probeResult) probeResult {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return probe(ctx)
}

func (k probeResult) print(std *streams) error {
	word := "fails"
	if k.OK {
		word = "works"
	}
	_, err := fmt.Fprintf(std.out, "%-9s  %s  %s\n", k.Name, word, k.Detail)
	return err
}

// finish prints the end. failure is why nothing works; its text was shown.
func (c *llmTestCmd) finish(std *streams, p *prober, out testJSON, failure error) error {
	if p.unpriced == 0 {
		out.Cost = &p.cost
	}
	out.FirstToken, out.TokensPerSecond = p.figures.FirstToken.Seconds(), p.figures.TokensPerSecond
	var err error
	switch {
	case c.JSON:
		err = printJSON(std, out)
	case failure == nil && out.Cost == nil:
		_, err = fmt.Fprintf(std.out, "%-9s  unknown: the price of %s is not known\n", "cost", out.Model)
	case failure == nil:
		_, err = fmt.Fprintf(std.out, "%-9s  %s\n", "cost", llm.Dollars(p.cost))
	}
	if failure == nil || err != nil {
		return err
	}
	if hint := fault.HintOf(failure); hint != "" {
		if _, err := fmt.Fprintln(std.err, "  →", oneLine(hint)); err != nil {
			return err
		}
	}
	return runcommand.Exit(fault.KindOf(failure).ExitCode())
}
