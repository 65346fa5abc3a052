package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/registry"
)

// profileSetCmd makes or changes a profile. What is not given stays as it is;
// an empty text or a limit of 0 takes a field back.
type profileSetCmd struct {
	Name string `arg:"" help:"The profile's name."`

	Model    *string `help:"The LLM, as for deft run." placeholder:"NAME"`
	BaseURL  *string `name:"base-url" help:"Address of the LLM's API." placeholder:"URL"`
	KeyEnv   *string `name:"api-key-env" help:"Name of the variable that holds the key." placeholder:"NAME"`
	KeyFile  *string `name:"api-key-file" help:"File that holds the key." placeholder:"FILE"`
	KeyStdin bool    `name:"api-key-stdin" help:"Read the key from standard input and store it in a file that only you can read."`

	API            *string        `name:"api" help:"Protocol of OpenAI and compatible servers: auto, chat or responses." placeholder:"NAME"`
	APIVersion     *string        `name:"api-version" help:"The api-version of an Azure OpenAI resource." placeholder:"VERSION"`
	ContextLimit   *int           `name:"context-limit" help:"Most tokens of context that Ollama is asked to set up." placeholder:"TOKENS"`
	KeepAlive      *time.Duration `name:"keep-alive" help:"How long Ollama keeps the model loaded; below 0 leaves it to the server." placeholder:"TIME"`
	CacheRetention *string        `name:"cache-retention" help:"How long OpenAI keeps prompts in its cache: 24h or short." placeholder:"TIME"`

	Effort      *string  `name:"reasoning-effort" help:"How long the model thinks: none, low, medium, high or xhigh." placeholder:"LEVEL"`
	MaxOutput   *int     `name:"max-output" help:"Longest answer, in tokens." placeholder:"TOKENS"`
	Temperature *float64 `help:"Randomness of the answers." placeholder:"NUMBER"`
	TopP        *float64 `name:"top-p" help:"Share of likely tokens to choose from." placeholder:"NUMBER"`

	Timeout        *time.Duration `help:"How long a call may take." placeholder:"TIME"`
	FirstTimeout   *time.Duration `name:"first-token-timeout" help:"How long the first piece of an answer may take." placeholder:"TIME"`
	IdleTimeout    *time.Duration `name:"idle-timeout" help:"Longest gap between two pieces." placeholder:"TIME"`
	ConnectTimeout *time.Duration `name:"connect-timeout" help:"How long connecting may take." placeholder:"TIME"`
	Attempts       *int           `help:"How often a call is tried in all." placeholder:"N"`
	RetryMinWait   *time.Duration `name:"retry-min-wait" help:"Shortest wait before trying again." placeholder:"TIME"`
	RetryMaxWait   *time.Duration `name:"retry-max-wait" help:"Longest wait before trying again." placeholder:"TIME"`
	Multiplier     *float64       `name:"retry-multiplier" help:"Seconds of the first wait; it doubles each time." placeholder:"NUMBER"`

	ContextWindow *int     `name:"context-window" help:"Context window in tokens, where it is not known." placeholder:"TOKENS"`
	InputPrice    *float64 `name:"input-price" help:"Price of a million tokens read, in US dollars." placeholder:"DOLLARS"`
	OutputPrice   *float64 `name:"output-price" help:"Price of a million tokens written." placeholder:"DOLLARS"`

	Fallback  *[]string `help:"Profiles to ask, in this order, when the model fails after all its tries." placeholder:"PROFILE,…"`
	Vision    *string   `help:"Profile that takes requests with images, and those too long for this model." placeholder:"PROFILE"`
	TextLimit *int      `name:"text-limit" help:"Longest prompt that does not go to the --vision profile, in tokens." placeholder:"TOKENS"`
}

// Help is shown by --help.
func (c *profileSetCmd) Help() string {
	return `What is not given stays as it is. An empty text ("") or a limit of 0 takes it back; a price, a
temperature or a top-p goes with the profile only. A key is not given as a flag: name a variable
or a file, or pipe it in.

Examples:
  deft llm profile set fast --model groq/llama-3.3-70b-versatile --api-key-stdin < key
  deft llm profile set strong --model anthropic/claude-sonnet-4-5 --fallback fast --attempts 2
  deft llm profile use strong
  deft llm profile use fast --for condenser`
}

// Run stores the profile.
func (c *profileSetCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	p, err := s.Get(c.Name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if p.Model == "" && c.Model == nil {
		return fault.New(fault.Invalid, "a new profile needs a model").Hint("give --model")
	}
	if err := c.apply(&p); err != nil {
		return err
	}
	if err := c.check(std, s, p); err != nil {
		return err
	}
	if c.KeyStdin {
		b, err := io.ReadAll(io.LimitReader(std.in, maxKey))
		if err != nil {
			return fault.New(fault.Invalid, "the key cannot be read from standard input").Because(err)
		}
		key, err := checkKey(string(b), "standard input")
		if err != nil {
			return err
		}
		if err := s.PutKey(c.Name, &p, key); err != nil {
			return err
		}
	}
	return s.Put(ctx, c.Name, p)
}

// applyKey changes where the key is, if that is given.
func (c *profileSetCmd) applyKey(p *registry.Profile) error {
	keys := 0
	for _, given := range []bool{c.KeyStdin, c.KeyEnv != nil && *c.KeyEnv != "", c.KeyFile != nil && *c.KeyFile != ""} {
		if given {
			keys++
		}
	}
	if keys > 1 {
		return fault.New(fault.Invalid, "there are several keys").Hint("give one of --api-key-env, --api-key-file and --api-key-stdin")
	}
	if keys == 1 || c.KeyEnv != nil || c.KeyFile != nil { // it takes the place of the old one
		p.APIKeyEnv, p.APIKeyFile, p.SealedAPIKey = "", "", ""
	}
	set(&p.APIKeyEnv, c.KeyEnv)
	if c.KeyFile != nil && *c.KeyFile != "" {
		abs, err := filepath.Abs(*c.KeyFile)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "find the key file")
		}
		p.APIKeyFile = abs
	}
	return nil
}

// apply changes what is given.
func (c *profileSetCmd) apply(p *registry.Profile) error {
	if err := c.applyKey(p); err != nil {
		return err
	}
	set(&p.Model, c.Model)
	set(&p.BaseURL, c.BaseURL)
	set(&p.API, c.API)
	set(&p.APIVersion, c.APIVersion)
	set(&p.ContextLimit, c.ContextLimit)
	set(&p.CacheRetention, c.CacheRetention)
	set(&p.ReasoningEffort, c.Effort)
	set(&p.MaxOutputTokens, c.MaxOutput)
	set(&p.NumRetries, c.Attempts)
	set(&p.RetryMultiplier, c.Multiplier)
	set(&p.ContextWindow, c.ContextWindow)
	if c.Fallback != nil {
		p.Fallback = slices.DeleteFunc(*c.Fallback, func(name string) bool { return name == "" })
	}
	set(&p.Vision, c.Vision)
	set(&p.TextLimit, c.TextLimit)
	for field, given := range map[*float64]*time.Duration{
		&p.KeepAlive: c.KeepAlive, &p.Timeout: c.Timeout, &p.FirstTokenTimeout: c.FirstTimeout, &p.StreamIdleTimeout: c.IdleTimeout,
		&p.ConnectTimeout: c.ConnectTimeout, &p.RetryMinWait: c.RetryMinWait, &p.RetryMaxWait: c.RetryMaxWait,
	} {
		if given != nil {
			*field = given.Seconds()
		}
	}
	for field, given := range map[**float64]*float64{
		&p.Temperature: c.Temperature, &p.TopP: c.TopP, &p.InputPrice: c.InputPrice, &p.OutputPrice: c.OutputPrice,
	} {
		if given != nil {
			*field = given
		}
	}
	return nil
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// check refuses a profile that no run could use: of a model that nobody knows,
// or with others that are not there.
func (c *profileSetCmd) check(std *streams, s *registry.Profiles, p registry.Profile) error {
	if err := p.Check(); err != nil {
		return err
	}
	by, err := newOpener(std)
	if err != nil {
		return err
	}
	if _, err := by.router().New(llm.Config{Model: p.Model, BaseURL: p.BaseURL, API: p.API, APIVersion: p.APIVersion}); err != nil {
		return err
	}
	for _, other := range append([]string{p.Vision}, p.Fallback...) {
		if other == "" {
			continue
		}
		if other == c.Name {
			return fault.New(fault.Invalid, "a profile cannot stand in for itself")
		}
		if _, err := s.Get(other); err != nil {
			return fmt.Errorf("the profile %s: %w", other, err)
		}
	}
	return nil
}
