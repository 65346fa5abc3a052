package profile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Set makes or changes a profile. Fields without a flag stay unchanged; an empty
// text or a limit of 0 takes a field back.
type Set struct {
	Name string `arg:"" help:"The profile's name." complete:"profiles"`

	Model    *string `help:"The LLM, as for deft run." placeholder:"NAME" complete:"models"`
	BaseURL  *string `name:"base-url" help:"Address of the LLM's API." placeholder:"URL"`
	KeyEnv   *string `name:"api-key-env" help:"Name of the variable that holds the key." placeholder:"NAME"`
	KeyFile  *string `name:"api-key-file" help:"File that holds the key." placeholder:"FILE"`
	KeyStdin bool    `name:"api-key-stdin" help:"Read the key from standard input and store it in the profile, sealed."`

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
	Vision    *string   `help:"Profile that takes requests with images, and requests too long for this model." placeholder:"PROFILE" complete:"profiles"`
	TextLimit *int      `name:"text-limit" help:"Longest prompt that does not go to the --vision profile, in tokens." placeholder:"TOKENS"`
}

// Help is shown by --help.
func (c *Set) Help() string {
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
func (c *Set) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	s, err := w.Stores()
	if err != nil {
		return err
	}
	p, err := s.LLMs.Profile(ctx, c.Name)
	switch {
	case fault.Is(err, fault.NotFound) && (c.Model == nil || *c.Model == ""):
		return fault.New(fault.Invalid, "a new profile needs a model").Hint("give --model")
	case fault.Is(err, fault.NotFound):
		p.LLM = newProfileLLM(*c.Model)
	case err != nil:
		return err
	}
	if err := c.apply(&p, std.In); err != nil {
		return err
	}
	if err := c.check(ctx, w, s, p); err != nil {
		return err
	}
	return s.LLMs.SaveProfile(ctx, c.Name, p)
}

// newProfileLLM returns the LLM of a new profile, which streams its answers. How
// long it thinks is left to the provider.
func newProfileLLM(model string) *spec.LLM {
	l := spec.NewLLM(model)
	l.Stream = true
	l.ReasoningEffort = nil
	return l
}

// applyKey changes where the key is, if that is given.
func (c *Set) applyKey(p *profiles.Profile, in io.Reader) error {
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
		p.KeyEnv, p.KeyFile, p.LLM.APIKey = "", "", ""
	}
	set(&p.KeyEnv, c.KeyEnv)
	if c.KeyFile != nil && *c.KeyFile != "" {
		abs, err := filepath.Abs(*c.KeyFile)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "find the key file")
		}
		p.KeyFile = abs
	}
	if !c.KeyStdin {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxKey))
	if err != nil {
		return fault.New(fault.Invalid, "the key cannot be read from standard input").Because(err)
	}
	p.LLM.APIKey, err = CheckKey(string(textfile.Decode(b)), "standard input")
	return err
}

// apply changes the given fields. An empty text or 0 stands for the default.
func (c *Set) apply(p *profiles.Profile, in io.Reader) error {
	if err := c.applyKey(p, in); err != nil {
		return err
	}
	l, x, usual := p.LLM, p.LLM.Extras(), newProfileLLM(p.LLM.Model)
	set(&l.Model, c.Model)
	setPointer(&l.BaseURL, c.BaseURL)
	setPointer(&l.APIVersion, c.APIVersion)
	setPointer(&l.ReasoningEffort, c.Effort)
	setPointer(&l.MaxOutputTokens, c.MaxOutput)
	setPointer(&l.MaxInputTokens, c.ContextWindow)
	setOr(&l.APIMode, c.API, usual.APIMode)
	setOr(&l.NumRetries, c.Attempts, usual.NumRetries)
	setOr(&l.RetryMultiplier, c.Multiplier, usual.RetryMultiplier)
	set(&x.ContextLimit, c.ContextLimit)
	set(&x.TextLimit, c.TextLimit)
	set(&x.Vision, c.Vision)
	if c.Fallback != nil {
		x.Fallback = slices.DeleteFunc(*c.Fallback, func(name string) bool { return name == "" })
	}
	c.applyTimes(l, x, usual)
	for field, given := range map[**float64]*float64{&l.Temperature: c.Temperature, &l.TopP: c.TopP} {
		if given != nil {
			*field = given
		}
	}
	for field, given := range map[**float64]*float64{&l.InputCostPerToken: c.InputPrice, &l.OutputCostPerToken: c.OutputPrice} {
		if given != nil { // which is for a million tokens
			one := *given / 1e6
			*field = &one
		}
	}
	if c.CacheRetention == nil {
		return nil
	}
	return SetRetention(l, *c.CacheRetention)
}

// applyTimes changes limits of time. The LLM has whole seconds; the exact time
// goes before them.
func (c *Set) applyTimes(l *spec.LLM, x *spec.LLMExtras, usual *spec.LLM) {
	for field, given := range map[*float64]*time.Duration{
		&x.KeepAlive: c.KeepAlive, &x.FirstTokenTimeout: c.FirstTimeout, &x.ConnectTimeout: c.ConnectTimeout,
	} {
		if given != nil {
			*field = given.Seconds()
		}
	}
	if given := c.IdleTimeout; given != nil {
		l.StreamIdleTimeout = usual.StreamIdleTimeout
		if seconds := given.Seconds(); seconds != 0 {
			l.StreamIdleTimeout = &seconds
		}
	}
	whole := func(given *time.Duration, exact *float64, usual int) (seconds int, ok bool) {
		if given == nil {
			return 0, false
		}
		*exact = 0
		if *given%time.Second != 0 {
			*exact = given.Seconds()
		}
		return cmp.Or(int(math.Ceil(given.Seconds())), usual), true
	}
	if n, ok := whole(c.Timeout, &x.Timeout, *usual.Timeout); ok {
		l.Timeout = &n
	}
	if n, ok := whole(c.RetryMinWait, &x.RetryMinWait, usual.RetryMinWait); ok {
		l.RetryMinWait = n
	}
	if n, ok := whole(c.RetryMaxWait, &x.RetryMaxWait, usual.RetryMaxWait); ok {
		l.RetryMaxWait = n
	}
}

// retentionCapability says that a model lets one choose how long prompts are
// kept in its cache.
const retentionCapability = "supports_prompt_cache_retention"

// SetRetention sets how long a provider is asked to keep prompts in its cache:
// "24h", "short" for as long as it does by itself, or "" for the model's known
// value.
func SetRetention(l *spec.LLM, retention string) error {
	l.Capabilities = maps.Clone(l.Capabilities)
	delete(l.Capabilities, retentionCapability)
	l.PromptCacheRetention = spec.NewLLM(l.Model).PromptCacheRetention
	switch retention {
	case "":
	case "24h":
		if l.Capabilities == nil {
			l.Capabilities = map[string]any{}
		}
		l.Capabilities[retentionCapability] = true
	case "short":
		l.PromptCacheRetention = nil
	default:
		return fault.New(fault.Invalid, "cache_retention must be 24h or short")
	}
	return nil
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// setOr is set, with usual in place of the zero value.
func setOr[T comparable](field, given *T, usual T) {
	if given != nil {
		*field = cmp.Or(*given, usual)
	}
}

// setPointer sets a field that is nil for the zero value.
func setPointer[T comparable](field **T, given *T) {
	var zero T
	switch {
	case given == nil:
	case *given == zero:
		*field = nil
	default:
		*field = given
	}
}

var efforts = []string{"none", "low", "medium", "high", "xhigh"}

// check refuses a profile that no run could use: one of an unknown model, or
// with others that do not exist.
func (c *Set) check(ctx context.Context, w Wiring, s *profiles.Stores, p profiles.Profile) error {
	l := p.LLM
	if l.ReasoningEffort != nil && c.Effort != nil && !slices.Contains(efforts, *c.Effort) {
		return fault.New(fault.Invalid, "reasoning_effort must be none, low, medium, high or xhigh")
	}
	if !slices.Contains([]string{llm.APIAuto, llm.APIChat, llm.APIResponses}, l.APIMode) {
		return fault.New(fault.Invalid, "api must be auto, chat or responses")
	}
	if l.BaseURL != nil {
		if u, err := url.Parse(*l.BaseURL); err != nil || u.User != nil || u.RawQuery != "" {
			return fault.New(fault.Invalid, "base_url must be an address without a user, a password or a query")
		}
	}
	if err := p.Check(); err != nil {
		return err
	}
	if err := w.CheckModel(l); err != nil {
		return err
	}
	for _, other := range l.Profiles() {
		if other == c.Name {
			return fault.New(fault.Invalid, "a profile cannot stand in for itself")
		}
		if _, err := Get(ctx, s, other); err != nil {
			return fmt.Errorf("the profile %s: %w", other, err)
		}
	}
	return nil
}

// maxKey bounds a key file; a longer one is not a key.
const maxKey = 16 << 10

// KeyFromFile reads the key in a file.
func KeyFromFile(path string) (llm.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	return CheckKey(string(textfile.Decode(b)), path)
}

// CheckKey refuses text that cannot be a key, without ever showing it.
func CheckKey(key, from string) (llm.Secret, error) {
	key = strings.TrimSpace(key)
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) >= maxKey || strings.ContainsFunc(key, odd) {
		return "", fault.New(fault.Invalid, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return llm.Secret(key), nil
}
