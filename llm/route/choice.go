package route

import (
	"fmt"
	"slices"
	"strings"
)

// proxyKey is the variable of several providers: of OpenHands' proxy, and of one's own, to which
// a key is sent only with its address.
const proxyKey = "LITELLM_API_KEY"

// Choice is what the keys in the environment say about the model.
type Choice struct {
	// Model is the usual one of the first provider whose key is set; "" if there is none.
	Model string
	// Variable has the key.
	Variable string
	// Missing names the variables that a key needs beside it to choose a model.
	Missing string
}

// Usual returns the choice that the environment makes.
func Usual(env func(string) string) Choice {
	var missing []string
	for _, p := range providers {
		for _, variable := range slices.Concat(p.keys, p.tokens) {
			if env(variable) == "" {
				continue
			}
			lacks := p.lacks(env)
			if lacks == "" && variable != proxyKey {
				return Choice{Model: p.named()[0] + "/" + p.usual, Variable: variable}
			}
			if lacks != "" {
				missing = append(missing, variable+" is set; "+lacks)
			}
		}
	}
	return Choice{Missing: strings.Join(missing, ", or ")}
}

// lacks names the variables that the key needs beside it for a call of a model; "" for none.
func (p provider) lacks(env func(string) string) string {
	var set []string
	if p.usual == "" {
		name := "NAME"
		if len(p.version) > 0 { // it has no models, but deployments
			name = "DEPLOYMENT"
		}
		set = append(set, fmt.Sprintf("LLM_MODEL=%s/%s", p.named()[0], name))
	}
	address := p.bases
	if p.url != "" {
		address = nil
	}
	for _, names := range [][]string{address, p.places} {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return env(name) != "" }) {
			set = append(set, names[0])
		}
	}
	if len(set) == 0 {
		return ""
	}
	return "with it set " + strings.Join(set, " and ")
}
