package v1

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// TestShownRequest: a start task has all fields of its request, as clients read them, and
// no secret.
func TestShownRequest(t *testing.T) {
	t.Parallel()
	shown, err := shownRequest(store.Task{Request: []byte(`{"title":"T","pr_number":[7],"secrets":{"TOKEN":"hunter2"},"processors":[{"kind":"SetTitleCallbackProcessor"}],"mcp_config":{"a":{"url":"http://x"}}}`)})
	must.Succeed(t, err)
	for _, f := range startForm.Fields {
		if _, ok := shown.Lookup(f.Name); !ok {
			t.Errorf("%s is missing", f.Name)
		}
	}
	raw, err := json.Marshal(shown)
	must.Succeed(t, err)
	for _, want := range []string{`"title":"T"`, `"pr_number":[7]`, `"secrets":{"TOKEN":"**********"}`, `"kind":"SetTitleCallbackProcessor"`, `"agent_type":"default"`, `"sandbox_id":null`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s has no %s", raw, want)
		}
	}
}

// TestOnlyIDs: a text that is no id is named.
func TestOnlyIDs(t *testing.T) {
	t.Parallel()
	const id = "00112233445566778899aabbccddeeff"
	for query, want := range map[string]string{
		"ids=" + id:             "",
		"ids=x&ids=" + id:       "Invalid UUID format for ids: ['x']",
		"ids=x&ids=y&ids=" + id: "Invalid UUID format for ids: ['x', 'y']",
	} {
		_, err := onlyIDs(rest.QueryOf(httptest.NewRequest("GET", "/?"+query, nil)), "ids")
		if (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestTaskIDs: the refusal of a text that is no id has its place.
func TestTaskIDs(t *testing.T) {
	t.Parallel()
	const id = "00112233-4455-6677-8899-aabbccddeeff"
	got, err := taskIDs(rest.QueryOf(httptest.NewRequest("GET", "/?ids="+id, nil)))
	if must.Succeed(t, err); len(got) != 1 || got[0] != strings.ReplaceAll(id, "-", "") {
		t.Errorf("got %v", got)
	}
	_, err = taskIDs(rest.QueryOf(httptest.NewRequest("GET", "/?ids="+id+"&ids=x", nil)))
	var wrong schema.Violations
	if !errors.As(err, &wrong) || wrong[0].Type != "uuid_parsing" || !slices.Equal(wrong[0].Loc, []any{"query", "ids", 1}) {
		t.Errorf("got %v", err)
	}
}
