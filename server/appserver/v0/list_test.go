package v0_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
)

// pages returns the ids of all pages of a list.
func (f *fixture) pages(owner, query string, limit int) (ids []string) {
	f.t.Helper()
	for page, n := "", 0; n < 50; n++ {
		var list struct {
			Results []shown `json:"results"`
			Next    *string `json:"next_page_id"`
		}
		f.get(owner, "GET", fmt.Sprintf("/api/conversations?limit=%d&page_id=%s&%s", limit, url.QueryEscape(page), query), "", &list)
		if len(list.Results) > limit {
			f.t.Errorf("a page of %d has %d conversations", limit, len(list.Results))
		}
		for _, one := range list.Results {
			ids = append(ids, one.ID)
		}
		if list.Next == nil {
			return ids
		}
		page = *list.Next
	}
	f.t.Fatal("the list does not end")
	return nil
}

// TestPages wants each conversation on one page, the starting ones too.
func TestPages(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var all, ofRepository []string
	repository := "o/r"
	for i := range 7 {
		id := f.create("alice")
		all = append(all, id)
		if i%3 == 0 {
			conversation, _ := event.ParseConversationID(id)
			if _, err := f.conversations.Patch(t.Context(), "alice", conversation, conversations.Change{Repository: &repository}); err != nil {
				t.Fatal(err)
			}
			ofRepository = append(ofRepository, id)
		}
	}
	slices.Reverse(all)
	slices.Reverse(ofRepository)
	gate := make(chan struct{})
	f.starts(gate, nil)
	starting := []string{f.begin("alice"), f.begin("alice"), f.begin("alice")}
	slices.Reverse(starting)
	for _, limit := range []int{1, 2, 3, 4, 100} {
		if d := cmp.Diff(slices.Concat(starting, all), f.pages("alice", "", limit)); d != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, d)
		}
		if d := cmp.Diff(ofRepository, f.pages("alice", "selected_repository=o/r", limit)); d != "" {
			t.Errorf("pages of %d of a repository (-want +got):\n%s", limit, d)
		}
		if d := cmp.Diff(slices.Concat(starting, all), f.pages("alice", "conversation_trigger=gui", limit)); d != "" {
			t.Errorf("pages of %d of a trigger (-want +got):\n%s", limit, d)
		}
	}
	var one shown
	f.get("alice", "GET", "/api/conversations/"+starting[0], "", &one)
	runtime := "STATUS$STARTING_RUNTIME"
	if d := cmp.Diff(shown{ID: starting[0], Title: "Conversation " + starting[0][:5], Status: "STARTING", Runtime: &runtime, Version: "V1"}, one); d != "" {
		t.Errorf("a conversation that is being started (-want +got):\n%s", d)
	}
	for _, request := range []string{"POST /stop", "DELETE "} {
		method, path, _ := strings.Cut(request, " ")
		if status, text := f.as("alice", method, "/api/conversations/"+starting[0]+path, ""); status != http.StatusConflict {
			t.Errorf("%s of one that is being started: %d %s", request, status, text)
		}
	}
	close(gate)
	for _, id := range starting {
		f.ended("alice", id)
	}
	made := f.pages("alice", "", 4)
	slices.Sort(made[:3]) // they were made at the same time
	slices.Sort(starting)
	if d := cmp.Diff(slices.Concat(starting, all), made); d != "" {
		t.Errorf("when they are started (-want +got):\n%s", d)
	}
	for _, bad := range []string{"limit=0", "limit=101", "conversation_trigger=x", "include_sub_conversations=x"} {
		if status, _ := f.as("alice", "GET", "/api/conversations?"+bad, ""); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

// TestFailedStart shows a conversation that could not be started, and deletes it.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.starts(nil, fault.New(fault.Invalid, "there is no model"))
	id := f.create("alice")
	path := "/api/conversations/" + id
	var one shown
	f.get("alice", "GET", path, "", &one)
	if one.Status != "ERROR" || *one.Runtime != "STATUS$ERROR" {
		t.Errorf("it is shown as %+v", one)
	}
	if status, text := f.as("alice", "POST", path+"/start", `{}`); status != http.StatusConflict || !strings.Contains(text, "there is no model") {
		t.Errorf("a start: %d %s", status, text)
	}
	if _, text := f.as("alice", "GET", path+"/events", ""); text != `{"events":[],"has_more":false}` {
		t.Errorf("events: %s", text)
	}
	for _, want := range []string{"true", "false"} {
		if _, text := f.as("alice", "DELETE", path, ""); text != want {
			t.Errorf("deleted: %s, want %s", text, want)
		}
	}
	if _, text := f.as("alice", "GET", path, ""); text != "null" {
		t.Errorf("afterwards it is %s", text)
	}
}

// TestLostSandbox shows a conversation whose workspace has vanished, and starts it again.
func TestLostSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		removed string // below the workspace
		left    string // a file in the workspace
		lost    bool
	}{
		"all of it":                     {"", "", true},
		"the project":                   {sandboxes.ProjectDirectory, "", true},
		"the project, not what else is": {sandboxes.ProjectDirectory, "other", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lostSandbox(t, c.removed, c.left, c.lost)
		})
	}
}

func lostSandbox(t *testing.T, removed, left string, lost bool) {
	f := setup(t)
	id := f.create("alice")
	conversation, _ := event.ParseConversationID(id)
	info, err := f.conversations.One(t.Context(), identity.Tenant("alice"), conversation)
	if err == nil {
		err = os.RemoveAll(filepath.Join(info.In.Directory, removed))
	}
	if err == nil && left != "" {
		err = os.WriteFile(filepath.Join(info.In.Directory, left), nil, 0o600)
	}
	must.Succeed(t, err)
	path := "/api/conversations/" + id
	is := func(want, runtime string) {
		t.Helper()
		var one shown
		f.get("alice", "GET", path, "", &one)
		var list struct{ Results []shown }
		f.get("alice", "GET", "/api/conversations", "", &list)
		for _, got := range append(list.Results, one) {
			if got.Status != want || got.Runtime == nil || *got.Runtime != runtime {
				t.Errorf("it is shown as %+v, want %s and %s", got, want, runtime)
			}
		}
	}
	if !lost {
		is("RUNNING", "STATUS$READY")
		return
	}
	is("ERROR", "STATUS$ERROR")
	if _, text := f.as("alice", "POST", path+"/stop", `{}`); !strings.Contains(text, "was not running") {
		t.Errorf("a stop: %s", text)
	}
	if status, text := f.as("alice", "POST", path+"/start", `{}`); status != http.StatusOK || !strings.Contains(text, "RUNNING") {
		t.Errorf("a start: %d %s", status, text)
	}
	is("RUNNING", "STATUS$READY")
	if _, err := os.Stat(filepath.Join(info.In.Directory, sandboxes.ProjectDirectory)); err != nil {
		t.Errorf("its directory is not there: %v", err)
	}
}
