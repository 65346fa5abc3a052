package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/server/appserver/git"
	"github.com/deft-dev/deft/server/appserver/mcpserver"
	"github.com/deft-dev/deft/settings"
)

// tokenVariables are the secrets by which agents get the tokens of Git providers.
var tokenVariables = map[forge.Provider]string{
	forge.GitHub: "GITHUB_TOKEN", forge.GitLab: "GITLAB_TOKEN", forge.Bitbucket: "BITBUCKET_TOKEN", forge.Forgejo: "FORGEJO_TOKEN",
}

// addTokens adds the tokens of Git providers to the secrets of a conversation, to be looked
// up when they are used. The owner's own secrets take precedence.
func addTokens(s *settings.Service, secrets map[string]json.RawMessage) error {
	stored, err := s.ProviderHosts()
	if err != nil {
		return err
	}
	for provider, name := range tokenVariables {
		if _, ok := stored[string(provider)]; !ok || secrets[name] != nil {
			continue
		}
		raw, err := json.Marshal(map[string]any{
			"kind": "LookupSecret", "url": secret.LocalPath(string(provider) + "_token"), "description": "token of the Git provider " + string(provider),
		})
		if err != nil {
			return err
		}
		secrets[name] = raw
	}
	return nil
}

// tokens returns an owner's tokens of Git providers, renewed where they are about to expire.
// One that cannot be renewed any more is left to its host to refuse, unless there is no
// other one.
func (o *owners) tokens(ctx context.Context, owner identity.Tenant) (map[string]settings.ProviderToken, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	all, err := s.ProviderTokens(ctx)
	if err != nil {
		return nil, err
	}
	for provider, t := range all {
		now, err := o.current(ctx, s, provider, t)
		if err == nil {
			all[provider] = now
			continue
		}
		if len(all) == 1 {
			return nil, err
		}
		o.log.Warn("a token of a Git host cannot be renewed", "provider", provider, "err", err)
	}
	return all, nil
}

// renewBefore is how long before it expires a token is renewed: a command that has got it
// may take a while. GitHub's are valid for eight hours, the others' for two.
const renewBefore = 30 * time.Minute

// current returns a stored token, renewed if it is about to expire.
func (o *owners) current(ctx context.Context, s *settings.Service, provider string, stored settings.ProviderToken) (settings.ProviderToken, error) {
	due := func(t settings.ProviderToken) bool {
		return t.RefreshToken != "" && t.Expired(time.Now().Add(renewBefore))
	}
	if !due(stored) || o.renewer == nil {
		if stored.Expired(time.Now()) {
			return stored, fault.New(fault.Auth, "the token of "+provider+" has expired").
				Hint("sign in at " + provider + " again, and store the new token in the settings")
		}
		return stored, nil
	}
	now, err := s.RenewProviderToken(ctx, provider, due, func(t settings.ProviderToken) (settings.ProviderToken, error) {
		got, err := o.renewer.Renew(ctx, forge.Account{Provider: forge.Provider(provider), Host: t.Host}, t.RefreshToken)
		if err != nil {
			return t, err
		}
		t.Token, t.Expires = got.Token, 0
		t.RefreshToken = cmp.Or(got.RefreshToken, t.RefreshToken)
		if !got.Expires.IsZero() {
			t.Expires = got.Expires.Unix()
		}
		return t, nil
	})
	if err != nil && !stored.Expired(time.Now()) {
		o.log.Warn("a token of a Git host is not renewed, and used until it expires", "provider", provider, "err", err)
		return stored, nil
	}
	return now, err
}

// CanRenew implements the TokenChecker of the settings' routes.
func (o *owners) CanRenew(provider, host string) error {
	if o.renewer == nil {
		return fault.New(fault.Unsupported, "this server renews no tokens")
	}
	return o.renewer.CanRenew(forge.Account{Provider: forge.Provider(provider), Host: host})
}

// CheckToken implements the TokenChecker of the settings' routes.
func (o *owners) CheckToken(ctx context.Context, provider string, t settings.ProviderToken) (userID string, err error) {
	h, err := o.forge.Open(forge.Account{Provider: forge.Provider(provider), Host: t.Host, Token: t.Token})
	if err != nil {
		return "", err
	}
	u, err := h.User(ctx)
	return u.ID, err
}

// forgeHosts returns the owner's hosts, or only a provider's. One without a token has
// public repositories.
func (o *owners) forgeHosts(ctx context.Context, owner identity.Tenant, provider string) (out []forge.Host, err error) {
	tokens, err := o.tokens(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, name := range settings.GitProviders {
		t, ok := tokens[name]
		if provider != name && (provider != "" || !ok) {
			continue
		}
		h, err := o.forge.Open(forge.Account{Provider: forge.Provider(name), Host: t.Host, Token: t.Token})
		if fault.Is(err, fault.Unsupported) && provider == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// Repository implements [conversations.Settings]. The provider of a repository that names
// none is the only one with a token, the first one that has the repository, or GitHub.
// Commits in a clone of it have the name and the address of the owner's settings.
func (o *owners) Repository(ctx context.Context, owner identity.Tenant, provider, repository string) (gitfetch.Source, error) {
	from, err := o.source(ctx, owner, provider, repository)
	if err != nil {
		return from, err
	}
	prefs, err := o.preferences(ctx, owner)
	from.Name, from.Email = prefs.GitUserName, prefs.GitUserEmail
	return from, err
}

func (o *owners) source(ctx context.Context, owner identity.Tenant, provider, repository string) (gitfetch.Source, error) {
	if gitfetch.IsURL(repository) {
		all, err := o.forgeHosts(ctx, owner, provider)
		if err != nil {
			return gitfetch.Source{}, err
		}
		return sourceAt(all, repository)
	}
	h, err := o.hostOf(ctx, owner, provider, repository)
	if err != nil {
		return gitfetch.Source{}, err
	}
	from := gitfetch.Source{}
	from.URL, from.User, from.Token = h.Clone(repository)
	return from, nil
}

// hostOf returns the host of a repository that is named as owner/name.
func (o *owners) hostOf(ctx context.Context, owner identity.Tenant, provider, repository string) (forge.Host, error) {
	if _, _, err := forge.SplitName(repository); err != nil {
		return nil, fault.New(fault.Invalid, "the repository is named as owner/name, or by its https:// URL")
	}
	all, err := o.forgeHosts(ctx, owner, provider)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return o.forge.Open(forge.Account{Provider: forge.GitHub})
	case len(all) == 1:
		return all[0], nil
	}
	return git.Find(ctx, all, repository)
}

// Host implements [conversations.Settings].
func (o *owners) Host(ctx context.Context, owner identity.Tenant, provider, repository string) (forge.Host, string, error) {
	all, err := o.forgeHosts(ctx, owner, "")
	if err != nil {
		return nil, "", err
	}
	if gitfetch.IsURL(repository) {
		for _, h := range all {
			if name := git.Named(h, repository); name != "" {
				return h, name, nil
			}
		}
		return nil, "", errNoHostToken
	}
	all = slices.DeleteFunc(all, func(h forge.Host) bool { return provider != "" && string(h.Provider()) != provider })
	switch len(all) {
	case 0:
		return nil, "", errNoHostToken
	case 1:
		return all[0], repository, nil
	}
	h, err := git.Find(ctx, all, repository)
	return h, repository, err
}

var errNoHostToken = fault.New(fault.Auth, "there is no token for the Git host of this repository").
	Hint("store one with write access in the settings of Git hosts")

// sourceAt is a repository at a URL, with the token of the host that is there.
func sourceAt(all []forge.Host, repository string) (gitfetch.Source, error) {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return gitfetch.Source{}, fault.New(fault.Invalid, "only https:// URLs of repositories are taken, without a password")
	}
	from := gitfetch.Source{URL: repository}
	for _, h := range all {
		at, user, password := h.Clone("a/b")
		own, err := url.Parse(at)
		if err == nil && own.Scheme == u.Scheme && strings.EqualFold(own.Host, u.Host) {
			from.User, from.Token = user, password
			break
		}
	}
	return from, nil
}

// newMCP makes the server of the tools that agents get from the App Server.
func (s *services) newMCP() *mcpserver.Service {
	return mcpserver.New(mcpserver.Options{
		Conversations: s.conversations, Store: s.store,
		Providers: func(ctx context.Context, owner identity.Tenant) (out []forge.Provider, err error) {
			all, err := s.owners.forgeHosts(ctx, owner, "")
			for _, h := range all {
				out = append(out, h.Provider())
			}
			return out, err
		},
		Host: func(ctx context.Context, owner identity.Tenant, p forge.Provider) (forge.Host, error) {
			all, err := s.owners.forgeHosts(ctx, owner, string(p))
			if err != nil {
				return nil, err
			}
			return all[0], nil
		},
		SearchKey: func(ctx context.Context, owner identity.Tenant) (llm.Secret, error) {
			own, err := s.owners.Of(ctx, owner)
			if err != nil {
				return "", err
			}
			key, err := own.ServiceKey(settings.SearchKey)
			key = cmp.Or(key, s.o.SearchKey)
			return key, err
		},
	})
}

// link returns the address of a conversation for people.
func (s *services) link(id event.ConversationID) string {
	return strings.TrimSuffix(cmp.Or(s.o.WebURL, s.o.InternalURL), "/") + "/conversations/" + id.Hex()
}
