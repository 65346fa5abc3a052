package agentsettings

import (
	"net/url"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Critic returns the critic that settings describe, nil for none (docs/critic.md). verification are the
// settings' own. Without a key of its own, the critic has the LLM's only where that is at the same host:
// a key is for nobody else.
func Critic(verification, llm *s.Map) any {
	v := verification
	if v.Get("critic_enabled") != true {
		return nil
	}
	out := s.Of("kind", spec.APICritic, "mode", v.Get("critic_mode"), "api_key", v.Get("critic_api_key"))
	for from, to := range map[string]string{"critic_server_url": "server_url", "critic_model_name": "model_name"} {
		if text := v.Text(from); text != "" {
			out.Set(to, text)
		}
	}
	if v.Text("critic_api_key") == "" && sameHost(llm.Text("base_url"), out.Text("server_url")) {
		out.Set("api_key", llm.Get("api_key"))
	}
	if v.Get("enable_iterative_refinement") == true {
		out.Set("iterative_refinement", s.Of("success_threshold", v.Get("critic_threshold"), "max_iterations", v.Get("max_refinement_iterations")))
	}
	return out
}

// sameHost reports whether the addresses of an LLM and of a critic, "" for the usual one, are at one
// host.
func sameHost(llm, critic string) bool {
	if critic == "" {
		critic = spec.DefaultCriticURL
	}
	a, err1 := url.Parse(llm)
	b, err2 := url.Parse(critic)
	return err1 == nil && err2 == nil && a.Host != "" && a.Host == b.Host && a.Scheme == b.Scheme
}
