package llmlist_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/server/agentserver/settings/llmlist"
	"github.com/deft-dev/deft/server/rest"
)

func TestLists(t *testing.T) {
	t.Parallel()
	h, err := rest.New(rest.Options{
		Routes: llmlist.New(catalog.Default, []string{"vllm/", "openai"}).Routes(), Keys: func() []string { return nil },
	})
	must.Succeed(t, err)
	get := func(method, path, body string, out any) int {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		if out != nil {
			if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		return w.Code
	}
	var providers struct{ Providers []string }
	get("GET", "/api/llm/providers", "", &providers)
	if p := providers.Providers; !slices.IsSorted(p) || !slices.Contains(p, "vllm") || !slices.Contains(p, "anthropic") || !slices.Contains(p, "openhands") {
		t.Errorf("providers: %v", p)
	}
	var all, some, none struct{ Models []string }
	get("GET", "/api/llm/models", "", &all)
	get("GET", "/api/llm/models?provider=openai", "", &some)
	get("GET", "/api/llm/models?provider=nobody", "", &none)
	if len(some.Models) == 0 || len(some.Models) >= len(all.Models) || none.Models == nil || len(none.Models) != 0 || !slices.Contains(all.Models, "gpt-5.6") {
		t.Errorf("models: %d of %d, %v", len(some.Models), len(all.Models), none.Models)
	}
	var verified struct{ Models map[string][]string }
	get("GET", "/api/llm/models/verified", "", &verified)
	if !slices.Contains(verified.Models["openhands"], "gpt-5.6") || !slices.Contains(verified.Models["anthropic"], "claude-opus-5") {
		t.Errorf("verified: %v", verified.Models)
	}
	for path, status := range map[string]int{"start": 409, "poll": 404} {
		if got := get("POST", "/api/llm/subscription/openai/device/"+path, `{"device_code":"x"}`, nil); got != status {
			t.Errorf("%s: %d", path, got)
		}
	}
}

// TestCatalogueIsReadOnUse: no start waits for the catalogue.
func TestCatalogueIsReadOnUse(t *testing.T) {
	t.Parallel()
	read := false
	routes := llmlist.New(func() *catalog.Catalog { read = true; return catalog.Default() }, nil).Routes()
	if read {
		t.Error("routes read the catalogue")
	}
	w := httptest.NewRecorder()
	must.Succeed(t, routes[0].Handle(w, httptest.NewRequest("GET", "/api/llm/providers", nil)))
	if !read || !strings.Contains(w.Body.String(), "anthropic") {
		t.Errorf("catalogue read: %v, providers: %s", read, w.Body)
	}
}
