package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

func TestCreateTwice(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("one")), nil)
	id := event.NewConversationID()
	r := h.request(t, fmt.Sprintf(`"conversation_id":%q,"initial_message":{"content":[{"type":"text","text":"first"}]}`, id))
	c, made, err := h.Create(t.Context(), r)
	if err != nil || !made || c.ID() != id {
		t.Fatalf("created %v as %s: %v", made, c.ID(), err)
	}
	settle(t, c)
	for range 2 { // live, and after a restart
		again, made, err := h.Create(t.Context(), h.request(t,
			fmt.Sprintf(`"conversation_id":%q,"initial_message":{"content":[{"type":"text","text":"second"}]}`, strings.ReplaceAll(string(id), "-", ""))))
		if err != nil || made || again.ID() != id {
			t.Fatalf("created again %v: %v", made, err)
		}
		settle(t, again)
		if diff := cmp.Diff([]string{"user: first", "running", "agent: one", "finished"}, h.kinds(t, id)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		h.restart(t)
	}
}

// TestCreateAtOnce lets many ask for one id: one message is sent.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("one")), nil)
	id := event.NewConversationID()
	var all sync.WaitGroup
	var made atomic.Int64
	for i := range 20 {
		r := h.request(t, fmt.Sprintf(`"conversation_id":%q,"initial_message":{"content":[{"type":"text","text":"from %d"}]}`, id, i))
		all.Go(func() {
			_, first, err := h.Create(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			if first {
				made.Add(1)
			}
		})
	}
	all.Wait()
	settle(t, h.get(t, id))
	if n := made.Load(); n != 1 {
		t.Errorf("%d conversations were made", n)
	}
	if got := h.kinds(t, id); len(got) != 4 {
		t.Errorf("events: %q", got)
	}
	if n, err := h.All().Count(t.Context(), eventstream.ListQuery{}); n != 1 || err != nil {
		t.Errorf("%d conversations: %v", n, err)
	}
}

func TestCreateRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	for _, more := range []string{
		`"confirmation_policy":{"kind":"Nobody"}`, `"security_analyzer":{"kind":"Nobody"}`,
		`"parent_conversation_id":"` + string(event.NewConversationID()) + `"`,
	} {
		if _, _, err := h.Create(t.Context(), h.request(t, more)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", more, err)
		}
	}
	if n, err := h.All().Count(t.Context(), eventstream.ListQuery{}); n != 0 || err != nil {
		t.Errorf("%d conversations: %v", n, err)
	}
}

const plain = "correct-horse-battery"

// TestSecrets looks for plain secrets wherever a conversation leaves traces.
func TestSecrets(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("reveal"), says("it is "+plain)), nil)
	h.tools.hidden = "the value is " + plain
	r := h.request(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"`+plain+`","description":"of the tests"}}`,
		`"usage_id"`, `"log_completions":true,"aws_access_key_id":"the-aws-id","aws_secret_access_key":"the-aws-secret","aws_session_token":"the-aws-session","usage_id"`)
	c, _, err := h.Create(t.Context(), r)
	must.Succeed(t, err)
	full := make(chan string, 100)
	defer c.Watch(func(tr session.Transient) { full <- string(tr.Event) })()
	send(t, c, "print "+plain)
	settle(t, c)
	second := "another-secret-entirely"
	err = c.SetSecrets(t.Context(), map[string]json.RawMessage{"SECOND": json.RawMessage(`"` + second + `"`)})
	must.Succeed(t, err)
	state, err := c.FullState(t.Context())
	must.Succeed(t, err)
	places := map[string]string{
		"events": h.stored(t, c.ID()), "description": describe(t, c), "full state": string(state),
	}
	h.restart(t)
	places["description after a restart"] = describe(t, h.get(t, c.ID()))
	close(full)
	for s := range full {
		places["published"] += s
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "*"))
	must.Succeed(t, err)
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			places[name] = string(b)
		}
	}
	for place, text := range places {
		for _, s := range []string{plain, second, "the-api-key", "the-aws-id", "the-aws-secret", "the-aws-session"} {
			// The user's text is the user's, and stands in the events.
			if text := strings.ReplaceAll(text, "print "+plain, ""); strings.Contains(text, s) {
				i := strings.Index(text, s)
				t.Errorf("%s is in the %s: %q", s, place, text[max(0, i-500):i])
			}
		}
	}
	if !strings.Contains(places["full state"], `"TOKEN"`) || !strings.Contains(places["full state"], "**********") {
		t.Errorf("the full state does not name the secrets: %s", places["full state"])
	}
}

// TestIndex lists idle conversations without reading an event.
func TestIndex(t *testing.T) {
	t.Parallel()
	h := setup(t, func() reply { r := says("done"); return inTurn(r, r, r, r, r, r) }(), nil)
	var ids []event.ConversationID
	for i := range 5 {
		c := h.begin(t, "")
		if i > 0 {
			send(t, c, "hi")
			settle(t, c)
		}
		ids = append(ids, c.ID())
	}
	must.Succeed(t, h.get(t, ids[1]).Patch(t.Context(), new("named"), nil))
	must.Succeed(t, h.get(t, ids[2]).Patch(t.Context(), nil, &map[string]string{"a": "b"}))
	must.Succeed(t, h.get(t, ids[3]).Send(t.Context(), message("for later", false)))
	must.Succeed(t, h.get(t, ids[4]).Confirmation().SetPolicy(t.Context(), json.RawMessage(`{"kind":"AlwaysConfirm"}`)))
	live := h.listed(t)
	h.restart(t)
	h.stream.reads.Store(0)
	cold := h.listed(t)
	if n := h.stream.reads.Load(); n != 0 {
		t.Errorf("listing read events %d times", n)
	}
	if diff := cmp.Diff(live, cold); diff != "" {
		t.Errorf("listed live and at rest (-live +rest):\n%s", diff)
	}
	// Changes to an idle conversation leave it idle.
	must.Succeed(t, h.get(t, ids[1]).Patch(t.Context(), new("renamed"), nil))
	h.restart(t)
	cold = h.listed(t)
	if n := h.stream.reads.Load(); n != 0 {
		t.Errorf("listing after an edit read events %d times", n)
	}
	if !strings.Contains(strings.Join(cold, "\n"), `"title":"renamed"`) {
		t.Error("the new title is not listed")
	}
	for _, id := range ids { // and loading them changes nothing
		if _, err := h.get(t, id).Assistant().FinalResponse(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(cold, h.listed(t)); diff != "" {
		t.Errorf("listed at rest and loaded (-rest +loaded):\n%s", diff)
	}
	if n, err := h.All().Count(t.Context(), eventstream.ListQuery{Status: "finished"}); n != 3 || err != nil {
		t.Errorf("%d finished: %v", n, err)
	}
}

// listed returns the descriptions without their times of update.
func (h *fixture) listed(t *testing.T) []string {
	t.Helper()
	p, err := h.List(t.Context(), eventstream.ListQuery{Ascending: true})
	must.Succeed(t, err)
	var out []string
	for _, raw := range p.Items {
		at := field(t, raw, "updated_at")
		out = append(out, strings.ReplaceAll(string(raw), `"updated_at":"`+at+`"`, ""))
	}
	return out
}

// preparedFiles records the directories that were to become repositories, and
// has a worktree where one is asked for with a base.
type preparedFiles struct {
	session.PlainDirectories
	asked *[]string
}

func (f preparedFiles) Prepare(_ context.Context, dir string, repository bool) error {
	if repository {
		*f.asked = append(*f.asked, dir)
	}
	return os.MkdirAll(dir, 0o700)
}

func (preparedFiles) AddWorktree(_ context.Context, dir string, _ event.ConversationID, o *session.WorktreeOptions) (string, string, error) {
	if o.Base == "" { // there is no repository
		return "", dir, nil
	}
	return dir + "/tree", dir + "/tree", os.MkdirAll(dir+"/tree", 0o700)
}

// TestRepository wants a repository where a conversation works without a
// worktree.
func TestRepository(t *testing.T) {
	t.Parallel()
	var asked []string
	h := setup(t, inTurn(), func(o *session.Options) { o.Files = preparedFiles{asked: &asked} })
	h.begin(t, "")
	h.begin(t, `"worktree":true`)
	r := h.request(t, "")
	r.Worktree = &session.WorktreeOptions{Base: "head"}
	c, _, err := h.Create(t.Context(), r)
	if err != nil || c.Workspace() != h.work+"/tree" || !c.HasWorktree() {
		t.Errorf("works in %s: %v", c.Workspace(), err)
	}
	if diff := cmp.Diff([]string{h.work, h.work}, asked); diff != "" {
		t.Errorf("asked for repositories (-want +got):\n%s", diff)
	}
}

// TestOrderOfCreation makes conversations side by side: they are listed in the
// order of the times that clients see.
func TestOrderOfCreation(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if _, _, err := h.Create(t.Context(), h.request(t, "")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p, err := h.List(t.Context(), eventstream.ListQuery{Ascending: true})
	if err != nil || len(p.Items) != 80 {
		t.Fatalf("%d listed: %v", len(p.Items), err)
	}
	last := ""
	for _, raw := range p.Items {
		at := field(t, raw, "created_at")
		if at < last {
			t.Fatalf("%s is listed behind %s", at, last)
		}
		last = at
	}
}

// TestWorktreeOfFailure removes the worktree of a conversation that cannot be
// stored.
func TestWorktreeOfFailure(t *testing.T) {
	t.Parallel()
	var added string
	var removed []string
	h := setup(t, inTurn(), func(o *session.Options) {
		o.Files = recordedWorktrees{added: &added, removed: &removed}
		o.Store = unstorable{o.Store}
	})
	if _, _, err := h.Create(t.Context(), h.request(t, `"worktree":true`)); !fault.Is(err, fault.Full) {
		t.Fatalf("created: %v", err)
	}
	if diff := cmp.Diff([]string{added}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// unstorable is a store on a full disk.
type unstorable struct{ eventstream.Stream }

func (unstorable) Create(context.Context, event.ConversationID, eventstream.Meta) error {
	return fault.New(fault.Full, "no space")
}
