package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
)

// modelFlags choose the LLM. A key is never a flag's value, because the flags
// of a process can be read by every user of the machine.
type modelFlags struct {
	Model      string `help:"LLM to use, for example anthropic/claude-sonnet-4-5." env:"LLM_MODEL" placeholder:"NAME"`
	BaseURL    string `name:"base-url" help:"Address of the LLM's API, for servers of your own." env:"LLM_BASE_URL" placeholder:"URL"`
	APIKeyEnv  string `name:"api-key-env" help:"Name of the environment variable that holds the key (default: LLM_API_KEY, then the provider's own)." placeholder:"NAME"`
	APIKeyFile string `name:"api-key-file" help:"File that holds the key." placeholder:"FILE" type:"path"`
	Effort     string `name:"reasoning-effort" help:"How long the model thinks: none, low, medium, high or xhigh." enum:",none,low,medium,high,xhigh" default:""`
}

// open returns the model, behind the layer that retries and keeps the budget.
func (f modelFlags) open(std *streams, o broker.Options) (llm.Model, error) {
	if f.Model == "" {
		return nil, fault.New(fault.Invalid, "no model is chosen").
			Hint("set LLM_MODEL (and LLM_API_KEY) or give --model; `deft demo` works without")
	}
	key, err := f.key(std)
	if err != nil {
		return nil, err
	}
	m, err := route.New(llm.Config{Model: f.Model, BaseURL: f.BaseURL, APIKey: key})
	if err != nil {
		return nil, err
	}
	return broker.New(m, o), nil
}

// key finds the API key. A model behind an own address may need none.
func (f modelFlags) key(std *streams) (llm.Secret, error) {
	switch {
	case f.APIKeyFile != "":
		b, err := os.ReadFile(f.APIKeyFile)
		if err != nil {
			return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
		}
		return llm.Secret(strings.TrimSpace(string(b))), nil
	case f.APIKeyEnv != "":
		key := std.env(f.APIKeyEnv)
		if key == "" {
			return "", fault.New(fault.Invalid, "the environment variable "+f.APIKeyEnv+" is empty").Hint("check --api-key-env")
		}
		return llm.Secret(key), nil
	}
	own := route.KeyVariables(f.Model)
	names := append([]string{"LLM_API_KEY"}, own...)
	for _, name := range names {
		if key := std.env(name); key != "" {
			return llm.Secret(key), nil
		}
	}
	if f.BaseURL != "" || len(own) == 0 {
		return "", nil
	}
	return "", fault.New(fault.Auth, fmt.Sprintf("no API key for %s", f.Model)).
		Hint("set " + strings.Join(names, " or ") + ", or give --api-key-file")
}
