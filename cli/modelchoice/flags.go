package modelchoice

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Flags choose the LLM. A key is never a flag's value, because the flags of a
// process can be read by every user of the machine. A conversation keeps them as
// JSON: names, never a key.
type Flags struct {
	Model       string   `json:"model" help:"LLM to use, for example anthropic/claude-sonnet-4-5." env:"LLM_MODEL" placeholder:"NAME" complete:"models"`
	BaseURL     string   `json:"base_url,omitempty" name:"base-url" help:"Address of the LLM's API, for servers of your own." env:"LLM_BASE_URL" placeholder:"URL"`
	APIKeyEnv   string   `json:"api_key_env,omitempty" name:"api-key-env" help:"Name of the environment variable that holds the key (default: LLM_API_KEY, then the provider's own)." placeholder:"NAME"`
	APIKeyFile  string   `json:"api_key_file,omitempty" name:"api-key-file" help:"File that holds the key." placeholder:"FILE" type:"path"`
	InputPrice  *float64 `json:"input_price,omitempty" help:"Price of a million tokens read, in US dollars, where it is not known." placeholder:"DOLLARS"`
	OutputPrice *float64 `json:"output_price,omitempty" help:"Price of a million tokens written." placeholder:"DOLLARS"`
	Effort      string   `json:"reasoning_effort,omitempty" name:"reasoning-effort" help:"How long the model thinks: none, low, medium, high or xhigh." enum:",none,low,medium,high,xhigh" default:"" placeholder:"LEVEL"`

	Vision         string        `json:"vision,omitempty" name:"vision" help:"Whether the model sees images: yes, no or auto (default: auto, by its known abilities and the refusals of its server)." enum:",yes,no,auto" default:"" placeholder:"WHEN"`
	Profile        string        `json:"profile,omitempty" help:"Use the model of a stored profile; see deft llm profile." placeholder:"NAME" complete:"profiles"`
	API            string        `json:"api,omitempty" name:"api" help:"Protocol of OpenAI and compatible servers: auto, chat or responses." enum:",auto,chat,responses" default:"" placeholder:"NAME"`
	ContextLimit   int           `json:"context_limit,omitempty" name:"context-limit" help:"Most tokens of context that Ollama is asked to set up." placeholder:"TOKENS"`
	KeepAlive      time.Duration `json:"keep_alive,omitempty" name:"keep-alive" help:"How long Ollama keeps the model loaded after a call; below 0 leaves it to the server." placeholder:"TIME"`
	CacheRetention string        `json:"cache_retention,omitempty" name:"cache-retention" help:"How long OpenAI keeps prompts in its cache: 24h or short (default: 24h where it is known to be taken)." enum:",24h,short" default:"" placeholder:"TIME"`
}

// chosen reports whether a flag, not the environment, names the model.
func (f *Flags) chosen(env func(string) string) bool {
	return f.Model != "" && f.Model != env("LLM_MODEL")
}

// checkProfile refuses flags that a profile answers, and ignores the environment's
// values in their place.
func (f *Flags) checkProfile(env func(string) string) error {
	if f.Profile == "" {
		return nil
	}
	odd := f.chosen(env) || f.BaseURL != "" && f.BaseURL != env("LLM_BASE_URL") || f.APIKeyEnv != "" || f.APIKeyFile != "" ||
		f.InputPrice != nil || f.OutputPrice != nil || f.API != "" || f.ContextLimit != 0 || f.KeepAlive != 0 || f.CacheRetention != "" || f.Vision != ""
	if odd {
		return fault.New(fault.Invalid, "the profile "+f.Profile+" says which model is used, and how").
			Hint("change it with `deft llm profile set " + f.Profile + "`; only --reasoning-effort goes with it")
	}
	f.Model, f.BaseURL = "", ""
	return nil
}

// keep fills missing flags with the conversation's values. Another model takes
// nothing over: a key or an address belongs to its own. A profile is kept whatever
// the environment says.
func (f *Flags) keep(old Flags, env func(string) string) {
	switch {
	case f.Profile != "":
		return
	case old.Profile != "" && !f.chosen(env):
		f.Profile, f.Effort = old.Profile, cmp.Or(f.Effort, old.Effort)
		return
	case old.Profile != "" || f.Model != "" && f.Model != old.Model:
		return
	}
	f.Effort, f.API, f.CacheRetention = cmp.Or(f.Effort, old.Effort), cmp.Or(f.API, old.API), cmp.Or(f.CacheRetention, old.CacheRetention)
	f.ContextLimit, f.KeepAlive = cmp.Or(f.ContextLimit, old.ContextLimit), cmp.Or(f.KeepAlive, old.KeepAlive)
	f.Model, f.BaseURL, f.Vision = old.Model, cmp.Or(f.BaseURL, old.BaseURL), cmp.Or(f.Vision, old.Vision)
	if f.APIKeyEnv == "" && f.APIKeyFile == "" {
		f.APIKeyEnv, f.APIKeyFile = old.APIKeyEnv, old.APIKeyFile
	}
	if f.InputPrice == nil && f.OutputPrice == nil {
		f.InputPrice, f.OutputPrice = old.InputPrice, old.OutputPrice
	}
}

// takeUsual chooses a model where no flag does: the profile of the agent, or else the model of a provider whose key is
// set.
func (f *Flags) takeUsual(m *Source, assigned profiles.Assignments, quiet bool) {
	if f.Profile != "" || f.Model != "" {
		return
	}
	if f.Profile = assigned.Agent(AgentClass); f.Profile != "" || f.BaseURL != "" {
		return
	}
	if usual := route.Usual(m.env); usual.Model != "" {
		f.Model = usual.Model
		if !quiet {
			m.tell(fmt.Sprintf("the model is %s, since %s is set; --model names another one", usual.Model, usual.Variable))
		}
	}
}

// document describes the model of the flags, with its key, as a conversation
// stores it. An unusable one is an error.
func (f *Flags) document(m *build.Models, env func(string) string) (*spec.LLM, error) {
	if err := f.check(env); err != nil {
		return nil, err
	}
	l := spec.NewLLM(f.Model)
	l.UsageID, l.Stream, l.APIMode = agent.UsageAgent, true, cmp.Or(f.API, llm.APIAuto)
	l.BaseURL, l.ReasoningEffort = optional.Of(f.BaseURL), optional.Of(f.Effort)
	if err := profile.SetRetention(l, f.CacheRetention); err != nil {
		return nil, err
	}
	if f.Vision == "yes" || f.Vision == "no" {
		l.Capabilities = map[string]any{"supports_vision": f.Vision == "yes"}
	}
	x := l.Extras()
	x.ContextLimit, x.KeepAlive = f.ContextLimit, f.KeepAlive.Seconds()
	if f.InputPrice != nil { // of a million tokens
		in, out := *f.InputPrice/1e6, *f.OutputPrice/1e6
		l.InputCostPerToken, l.OutputCostPerToken = &in, &out
	}
	cfg := l.Config(m.Catalog)
	completeAddress(&cfg, env)
	if _, err := m.Adapter(cfg); err != nil { // before a key is asked for
		return nil, err
	}
	l.BaseURL, l.APIVersion = optional.Of(cfg.BaseURL), optional.Of(cfg.APIVersion)
	var err error
	l.APIKey, err = f.key(env)
	return l, err
}

// check refuses flags that no model can have.
func (f *Flags) check(env func(string) string) error {
	if f.Model == "" {
		err := fault.New(fault.Invalid, "no model is chosen")
		if missing := route.Usual(env).Missing; missing != "" {
			return err.Hint(missing)
		}
		return err.Hint("set LLM_MODEL (and LLM_API_KEY) or give --model; `deft demo` works without")
	}
	if u, err := url.Parse(f.BaseURL); err == nil && u.User != nil { // it would be stored and shown
		return fault.New(fault.Invalid, "--base-url must not hold a user or a password").Hint("put the key into LLM_API_KEY")
	}
	if f.ContextLimit < 0 {
		return fault.New(fault.Invalid, "--context-limit must not be negative").Hint("leave it out for the model's own limit")
	}
	in, out := f.InputPrice, f.OutputPrice
	if in == nil && out == nil {
		return nil
	}
	if in == nil || out == nil || !(*in >= 0 && *out >= 0) {
		return fault.New(fault.Invalid, "--input-price and --output-price must both be given, and not be negative").
			Hint("they are US dollars for a million tokens")
	}
	return nil
}

// key finds the API key. A model with an address of its own may need none.
func (f *Flags) key(env func(string) string) (llm.Secret, error) {
	switch {
	case f.APIKeyFile != "" && f.APIKeyEnv != "":
		return "", fault.New(fault.Invalid, "there are two keys: --api-key-file and --api-key-env").Hint("give one of them")
	case f.APIKeyFile != "":
		return profile.KeyFromFile(f.APIKeyFile)
	case f.APIKeyEnv != "":
		if !runcommand.VariableName().MatchString(f.APIKeyEnv) { // perhaps the key itself: not to be shown
			return "", fault.New(fault.Invalid, "--api-key-env takes the name of a variable, not a key").Hint("for example --api-key-env MY_KEY")
		}
		if env(f.APIKeyEnv) == "" {
			return "", fault.New(fault.Invalid, "the environment variable "+f.APIKeyEnv+" is empty").
				Hint("set it, or name another with --api-key-env")
		}
		return profile.CheckKey(env(f.APIKeyEnv), "the variable "+f.APIKeyEnv)
	}
	names := KeyVariables(f.Model)
	for _, name := range names {
		if key := env(name); key != "" {
			return profile.CheckKey(key, "the variable "+name)
		}
	}
	if f.BaseURL != "" || len(names) == 1 {
		return "", nil
	}
	return "", fault.New(fault.Auth, fmt.Sprintf("no API key for %s", f.Model)).
		Hint("set " + strings.Join(names, " or ") + ", or give --api-key-file")
}

// KeyVariables are asked for a key, in this order.
func KeyVariables(model string) []string {
	return append([]string{"LLM_API_KEY"}, route.KeyVariables(model)...)
}
