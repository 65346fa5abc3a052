package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"

	"github.com/deft-dev/deft/schema"
)

// InternalHosts are the hosts that users may name, and the host of the operator's own model.
func (c *Config) InternalHosts() []string {
	all := slices.Clone(c.Server.InternalHosts)
	if u, err := url.Parse(c.LLM.BaseURL); err == nil && u.Host != "" {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		all = append(all, net.JoinHostPort(u.Hostname(), port))
	}
	return all
}

// Document is the LLM of users who have chosen none.
func (c LLM) Document() *schema.Map {
	if c.Model == "" {
		return nil
	}
	m := schema.Of("model", c.Model, "stream", true)
	for key, value := range map[string]string{
		"api_key": c.APIKey.Reveal(), "base_url": c.BaseURL, "api_version": c.APIVersion, "reasoning_effort": c.ReasoningEffort,
	} {
		if value != "" {
			m.Set(key, value)
		}
	}
	if c.Temperature != nil {
		m.Set("temperature", *c.Temperature)
	}
	if c.MaxOutputTokens > 0 {
		m.Set("max_output_tokens", schema.Count(c.MaxOutputTokens))
	}
	return m
}

// Trusts reports whether an address is one of a proxy whose X-Forwarded headers count.
func (s Server) Trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
}
