package appserver_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/settings"
)

// TestTokensAreSecrets: conversations get the tokens by reference, and an owner's own secret
// of the same name instead.
func TestTokensAreSecrets(t *testing.T) {
	t.Parallel()
	s, err := settings.Open(t.Context(), settings.Options{Dir: t.TempDir(), Keys: keyring.New("master")})
	must.Succeed(t, err)
	if err := s.SetProviderTokens(t.Context(), map[string]settings.ProviderToken{
		"github": {Token: "ghp-1"}, "gitlab": {Token: "glpat-2"}, "azure_devops": {Token: "az-3"},
	}); err != nil {
		t.Fatal(err)
	}
	own := json.RawMessage(`"mine"`)
	secrets := map[string]json.RawMessage{"GITHUB_TOKEN": own, "OTHER": own}
	must.Succeed(t, appserver.AddTokens(s, secrets))
	if diff := cmp.Diff([]string{"GITHUB_TOKEN", "GITLAB_TOKEN", "OTHER"}, slices.Sorted(maps.Keys(secrets))); diff != "" {
		t.Error(diff)
	}
	if string(secrets["GITHUB_TOKEN"]) != string(own) {
		t.Errorf("the owner's secret was replaced by %s", secrets["GITHUB_TOKEN"])
	}
	if got := string(secrets["GITLAB_TOKEN"]); !strings.Contains(got, "LookupSecret") || !strings.Contains(got, "gitlab_token") || strings.Contains(got, "glpat") {
		t.Errorf("the token of GitLab: %s", got)
	}
}
