package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, parse(t, "turns: [{name: all, repeat: forever, reply: {text: x}}]"), llmtest.Options{MaxRecorded: 2})
	ask(t, srv, say("1"))
	_, _, err := post(t, srv, messagesPath, `{"model":"m","max_tokens":7,"stream":true,"system":"sys","messages":[`+chatUser+","+messagesCall+","+userBlocks(resultA+","+resultB)+`]}`)
	must.Succeed(t, err)
	ask(t, srv, say("3"))
	reqs := srv.Requests()
	if len(reqs) != 2 || srv.Count() != 3 || reqs[1].N != 3 {
		t.Fatalf("%d kept of %d", len(reqs), srv.Count())
	}
	got := reqs[0]
	want := []llmtest.Message{
		{Role: "user", Text: "hi"},
		{Role: "assistant", ToolCalls: []llmtest.Call{{ID: "a", Name: "ls", Arguments: "{}"}, {ID: "b", Name: "ls", Arguments: "{}"}}},
		{Role: "user", ToolResults: []llmtest.Result{{CallID: "a", Text: "1"}, {CallID: "b", Text: "2"}}},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got.Protocol != llmtest.Anthropic || !got.Stream || got.System != "sys" || got.MaxTokens != 7 || got.Turn != "all" || !strings.HasPrefix(got.Body, `{"model":"m"`) {
		t.Errorf("request: %+v", got)
	}
	if _, err := srv.Wait(t.Context(), 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("wait for a dropped request: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := srv.Wait(ctx, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("wait with an ended context: %v", err)
	}
}

func TestRecordNothing(t *testing.T) {
	t.Parallel()
	script := parse(t, "turns: [{repeat: forever, reply: {text: x}}]")
	none := llmtest.StartWith(t, script, llmtest.Options{MaxRecorded: -1})
	few := llmtest.StartWith(t, script, llmtest.Options{MaxRecordedBytes: 1})
	for range 3 {
		ask(t, none, chatUser)
		ask(t, few, chatUser)
	}
	if len(none.Requests()) != 0 || len(few.Requests()) != 1 || none.Count() != 3 {
		t.Errorf("kept %d and %d", len(none.Requests()), len(few.Requests()))
	}
}

// TestFailsTheTest checks that an unexpected request fails the test at its end.
func TestFailsTheTest(t *testing.T) {
	t.Parallel()
	fake := &fakeTB{}
	srv := llmtest.Start(fake, &llmtest.Script{})
	_, _, err := post(t, srv, "/v2/nothing", "{}")
	ask(t, srv, say("x"))
	for _, f := range fake.cleanups {
		f()
	}
	if err != nil || len(fake.errs) != 2 || !strings.Contains(fake.errs[0], "no such route") || !strings.Contains(fake.errs[1], "exhausted") {
		t.Errorf("%v %v", err, fake.errs)
	}
}

type fakeTB struct {
	cleanups []func()
	errs     []string
}

func (f *fakeTB) Helper()                        {}
func (f *fakeTB) Cleanup(c func())               { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Errorf(format string, a ...any) { f.errs = append(f.errs, fmt.Sprintf(format, a...)) }
func (f *fakeTB) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func TestModels(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, &llmtest.Script{Models: []string{"one", "two"}})
	oc, ac := openaiClient(t, srv), anthropicClient(t, srv)
	list, err := oc.Models.List(t.Context())
	if err != nil || len(list.Data) != 2 || list.Data[1].ID != "two" {
		t.Errorf("openai: %v %v", list, err)
	}
	page, err := ac.Models.List(t.Context(), modelListParams)
	if err != nil || len(page.Data) != 2 || page.Data[0].ID != "one" {
		t.Errorf("anthropic: %v %v", page, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, &llmtest.Script{}, llmtest.Options{MaxBody: 10, AllowErrors: true})
	if res, body, err := post(t, srv, chatPath, chatBody(chatUser)); err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%v %s", err, body)
	}
}

// TestConcurrentSessions runs many sessions of one script concurrently.
func TestConcurrentSessions(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, `{per_session: true, turns: [{reply: {text: "0 {{.Session}}"}}, {reply: {text: "1 {{.Session}}"}}, {reply: {text: "2 {{.Session}}"}}]}`))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			s := fmt.Sprint(i)
			for k := range 3 {
				if got, want := ask(t, srv, chatUser, "X-Litellm-Session-Id", s), fmt.Sprintf("%d %s", k, s); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestPacing runs on a fake clock.
func TestPacing(t *testing.T) {
	t.Parallel()
	script := parse(t, "turns: [{latency: 1s, chunk_delay: 500ms, chunk_size: 1, repeat: forever, reply: {text: abc}}]")
	for stream, want := range map[bool]time.Duration{false: time.Second, true: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			srv, err := llmtest.New(script, llmtest.Options{})
			must.Succeed(t, err)
			start := time.Now()
			res := newResponse()
			body := strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%v,"messages":[%s]}`, stream, chatUser))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, chatPath, body)
			must.Succeed(t, err)
			srv.ServeHTTP(res, req)
			if got := time.Since(start); got != want {
				t.Errorf("stream %v took %v, want %v", stream, got, want)
			}
		})
	}
}

// response is a bare ResponseWriter.
type response struct {
	header http.Header
	status int
	body   strings.Builder
}

func newResponse() *response                          { return &response{header: http.Header{}} }
func (r *response) Header() http.Header               { return r.header }
func (r *response) WriteHeader(status int)            { r.status = status }
func (r *response) Write(p []byte) (n int, err error) { return r.body.Write(p) }
