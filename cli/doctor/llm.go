package doctor

import (
	"cmp"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Model describes the default LLM. No request is made to find out.
type Model struct {
	// Name is the model's; "" if none is chosen.
	Name string
	// Profile is the agent's; "" if LLM_MODEL names the model.
	Profile string
	// Err says why the model cannot be used, and names the profile; of kind
	// fault.Auth if only a key is missing.
	Err error
	// KeyVariables may hold the key of a model that LLM_MODEL names, LLM_API_KEY
	// first; KeySet is the one that does, "" if none does.
	KeyVariables []string
	KeySet       string
	// OwnServer says that LLM_BASE_URL is set.
	OwnServer bool
	// Lacks names the variables that a set key needs beside it.
	Lacks string
}

func (m Model) checks() []Check {
	switch {
	case m.Err != nil:
		c := failed("model", fault.ExitUsage, m.Err)
		if fault.Is(m.Err, fault.Auth) {
			c.Exit = fault.ExitRefused
		}
		return []Check{c}
	case m.Name == "":
		return []Check{{
			Name: "model", State: Warning, Text: "none is chosen: LLM_MODEL is not set, and the agent has no profile",
			Next: cmp.Or(m.Lacks, "set LLM_MODEL and LLM_API_KEY, or choose a profile with `deft llm profile use`; `deft demo` works without"),
		}}
	case m.Profile != "":
		return []Check{{Name: "model", State: OK, Text: m.Name + " of the profile " + m.Profile}}
	}
	return []Check{{Name: "model", State: OK, Text: m.Name}, m.key()}
}

func (m Model) key() Check {
	switch {
	case m.KeySet != "":
		return Check{Name: "key", State: OK, Text: m.KeySet + " is set"}
	case m.OwnServer || len(m.KeyVariables) < 2:
		return Check{Name: "key", State: OK, Text: "none is set; a server of your own may need none"}
	}
	return Check{
		Name: "key", State: Failed, Text: "not set: " + strings.Join(m.KeyVariables, " and ") + " are empty",
		Next: "set " + strings.Join(m.KeyVariables, " or "), Exit: fault.ExitRefused,
	}
}
