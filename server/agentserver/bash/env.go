package bash

import "strings"

// secretNames are variables that hold the server's own secrets or its LLMs'.
var secretNames = map[string]bool{
	"SESSION_API_KEY": true, "LLM_API_KEY": true, "LMNR_PROJECT_API_KEY": true,
	"AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true, "AWS_BEARER_TOKEN_BEDROCK": true,
}

// secretParts mark a variable of the server's configuration as secret.
var secretParts = []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "HEADERS", "CREDENTIAL"}

// Environment returns the commands' part of an environment: everything but the
// server's keys, the keys of LLMs and tracing headers. AI_AGENT is set, so that
// programs can print for an agent (docs/openhands/sdk-wire.md section 10).
func Environment(environ []string) []string {
	out := make([]string, 0, len(environ)+1)
	told := false
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case secretVariable(name):
			continue
		case name == "AI_AGENT" && strings.TrimSpace(value) == "":
			continue
		case name == "AI_AGENT":
			told = true
		}
		out = append(out, kv)
	}
	if !told {
		out = append(out, "AI_AGENT=openhands")
	}
	return out
}

func secretVariable(name string) bool {
	if secretNames[name] || strings.HasSuffix(name, "_API_KEY") {
		return true
	}
	if strings.HasPrefix(name, "OTEL_") && strings.HasSuffix(name, "HEADERS") {
		return true
	}
	if !strings.HasPrefix(name, "OH_") && !strings.HasPrefix(name, "DEFT_") && !strings.HasPrefix(name, "LLM_") {
		return false
	}
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
