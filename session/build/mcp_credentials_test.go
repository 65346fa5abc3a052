package build

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/tool/mcp"
)

// TestServerCredentials: the credentials of an MCP server are masked when it repeats
// it, and ordinary values are not.
func TestServerCredentials(t *testing.T) {
	t.Parallel()
	s := mcp.Server{
		URL:     "https://user:pass-word-1@host/mcp?api_key=query-key-1&page=ordinary-value&token=short",
		Headers: map[string]string{"Authorization": "Bearer header-token-1", "X-Project": "ordinary-value", "X-Api-Key": "header-key-1"},
		Env:     map[string]string{"HOME_OF": "/home/ordinary", "GITHUB_TOKEN": "env-token-1"},
		Auth: &mcp.Auth{
			Value: "auth-value-1", Username: "u", Password: "auth-password-1", Headers: map[string]string{"X-Any": "auth-header-1"},
			State: json.RawMessage(`{"tokens":{"access_token":"access-token-1","refresh_token":"refresh-token-1"}}`),
		},
	}
	got := slices.Sorted(slices.Values(serverCredentials(s)))
	want := []string{
		"Bearer header-token-1", "access-token-1", "auth-header-1", "auth-password-1", "auth-value-1", "dTphdXRoLXBhc3N3b3JkLTE=", "env-token-1",
		"header-key-1", "header-token-1", "pass-word-1", "query-key-1", "refresh-token-1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := serverCredentials(mcp.Server{Auth: &mcp.Auth{State: json.RawMessage(`[]`)}}); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}
