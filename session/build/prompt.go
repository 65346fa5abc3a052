package build

import (
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// Names of prompts and policies that an agent of the wire has where it names
// none.
const (
	builtinPrompt = "system_prompt.j2"
	builtinPolicy = "security_policy.j2"
)

// promptOf is the prompt that an agent asks for (docs/openhands/sdk-wire.md section 6): its
// own text, its own security policy or none, with or without the section on
// risks. Invalid for a policy that cannot be read.
func promptOf(r session.BuildRequest) (codeact.Prompt, error) {
	a := r.Agent
	p := codeact.Prompt{
		Persona: r.Prompt.Persona, Suffix: r.Prompt.Suffix, Secrets: r.Prompt.Secrets, Now: r.Prompt.Now, MemoryFiles: r.Remember != nil,
		Model:  r.Model.Name,
		NoRisk: a.SystemPromptKwargs["llm_security_analyzer"] == false, NoPolicy: a.SecurityPolicyFilename == "",
	}
	if p.Planning = a.Plans(); p.Planning {
		p.PlanStructure, _ = a.SystemPromptKwargs["plan_structure"].(string)
	}
	if a.SystemPrompt != nil {
		p.Verbatim = *a.SystemPrompt
	}
	if file := a.SecurityPolicyFilename; file != "" && file != builtinPolicy {
		var err error
		if p.SecurityPolicy, err = policy(file); err != nil {
			return p, err
		}
		p.NoPolicy = p.SecurityPolicy == ""
	}
	return p, nil
}

// maxPolicy bounds a policy in bytes: all of it is sent with every call.
const maxPolicy = 1 << 20

// policy reads a security policy, which is text and no template.
func policy(file string) (string, error) {
	if !filepath.IsAbs(file) {
		return "", fault.New(fault.Invalid, "this server has no security policy "+file).Hint("give an absolute path")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "read the security policy")
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return "", fault.Wrap(err, fault.Invalid, "read the security policy")
	case len(raw) > maxPolicy || !utf8.Valid(raw):
		return "", fault.New(fault.Invalid, "the security policy "+file+" is not a text of at most 1 MiB")
	}
	return string(raw), nil
}
