package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/openai"
)

// TestTooSmallToCache checks that a call refused for its cache marks is
// repeated once without them.
func TestTooSmallToCache(t *testing.T) {
	t.Parallel()
	refusal := &llmtest.Fault{Kind: llmtest.BadRequest, Message: "prompt is below the minimum token count to start caching: 1024"}
	srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Fault: refusal}, {Reply: llmtest.Reply{Text: "ok"}}, {Fault: refusal}, {Fault: refusal}}})
	m, err := anthropic.New(llm.Config{Model: "anthropic/claude-sonnet-4-5", BaseURL: srv.URL})
	must.Succeed(t, err)
	var c clock
	b := broker.New(m, broker.Options{Sleep: c.sleep})
	text := event.Text("hello")
	text.CachePrompt = true
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Content{text}}}}
	if _, err := b.Generate(t.Context(), r, ignore); err != nil || len(c.waits) != 0 || !r.Messages[0].Content[0].CachePrompt {
		t.Fatalf("%v after waits %v", err, c.waits)
	}
	var marks []int
	for _, q := range srv.Requests() {
		marks = append(marks, q.Messages[0].Cached)
	}
	if diff := cmp.Diff([]int{1, 0}, marks); diff != "" {
		t.Errorf("cache marks: %s", diff)
	}
	if _, err := b.Generate(t.Context(), r, ignore); fault.KindOf(err) != fault.Invalid || srv.Count() != 4 {
		t.Errorf("refused twice: %v after %d calls", err, srv.Count())
	}
}

// TestImagesRefused repeats a call without its images, and remembers that the model takes none.
func TestImagesRefused(t *testing.T) {
	t.Parallel()
	picture := event.Image("data:image/png;base64,iVBORw0KGgo=")
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Content{event.Text("look"), picture}}}}
	for message, repaired := range map[string]bool{
		"Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`": true,
		"Invalid content type. image_url is only supported by certain models.":                           true,
		"image input is not supported - hint: you may need to provide the mmproj":                        true,
		"This model does not support image input":                                                        true,
		"some/model is not a multimodal model":                                                           true,
		"At most 0 image(s) may be provided in one prompt.":                                              true,
		"No endpoints found that support image input":                                                    true,
		"this model is missing data required for image input":                                            true,
		"Image input modality is not enabled for models/x":                                               true,
		"This model doesn't support the image content block":                                             true,
		"'messages.1.content' must be a string":                                                          true,
		"messages.0.content.1: Input tag 'image' found using 'type' does not match any of the expected":  true,
		"The provided input is not supported: image":                                                     true,
		"messages.content.type is wrong, possible values ['text']":                                       true,
		"max_tokens is too large":                                                                        false,
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{
				{Fault: &llmtest.Fault{Kind: llmtest.BadRequest, Message: message}}, {Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "ok"}},
			}})
			m, err := openai.New(llm.Config{Model: "vllm/some-model", Provider: "vllm", BaseURL: srv.URL + "/v1"})
			must.Succeed(t, err)
			var c clock
			told := ""
			b := broker.New(m, broker.Options{Sleep: c.sleep, OnRetry: func(r broker.Retry) { told = r.Change }})
			_, err = b.Generate(t.Context(), r, ignore)
			if repaired != strings.HasPrefix(told, "without the pictures") {
				t.Errorf("told %q", told)
			}
			if repaired != (err == nil) || b.Info().Vision == repaired || len(r.Messages[0].Content[1].ImageURLs) == 0 {
				t.Fatalf("%v; vision %v", err, b.Info().Vision)
			}
			if !repaired {
				return
			}
			if _, err := b.Generate(t.Context(), r, ignore); err != nil || srv.Count() != 3 {
				t.Errorf("%v after %d calls", err, srv.Count())
			}
			for i, want := range []int{1, 0, 0} {
				if got := srv.Requests()[i].Messages[0]; got.Images != want || want == 0 && !strings.Contains(got.Text, "An image was left out") {
					t.Errorf("request %d: %d images, %q", i, got.Images, got.Text)
				}
			}
		})
	}
}

// TestImageRefused repeats a call without images for which one image was refused: later calls would
// be refused as well. The next call has them again.
func TestImageRefused(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"The image format image/tiff is not supported", "Could not process image", "image exceeds 5 MB, which is not supported"} {
		refusal := llmtest.Turn{Fault: &llmtest.Fault{Kind: llmtest.BadRequest, Message: message}}
		answer := llmtest.Turn{Reply: llmtest.Reply{Text: "ok"}}
		srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{refusal, answer, refusal, answer}})
		m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1"})
		must.Succeed(t, err)
		told := ""
		b := broker.New(m, broker.Options{OnRetry: func(r broker.Retry) { told = r.Change }})
		r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Content{event.Text("look"), event.Image("data:image/png;base64,iVBORw0KGgo=")}}}}
		for range 2 {
			_, err := b.Generate(t.Context(), r, ignore)
			must.Succeed(t, err)
		}
		var images []int
		for _, q := range srv.Requests() {
			images = append(images, q.Messages[0].Images)
		}
		if diff := cmp.Diff([]int{1, 0, 1, 0}, images); diff != "" || told != "without the pictures of the conversation" || !b.Info().Vision {
			t.Errorf("%s: told %q, images: %s", message, told, diff)
		}
	}
}

// TestImagesRefusedBefore sends no images to a model that took none before, and tells of one that
// is found, once.
func TestImagesRefusedBefore(t *testing.T) {
	t.Parallel()
	refusal := llmtest.Turn{Fault: &llmtest.Fault{Kind: llmtest.BadRequest, Message: "this model does not support image input"}}
	answer := llmtest.Turn{Reply: llmtest.Reply{Text: "ok"}}
	srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{refusal, answer, answer, answer}})
	m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1"})
	must.Succeed(t, err)
	var found []string
	o := broker.Options{NoImages: func(model string) bool { return slices.Contains(found, model) }, OnNoImages: func(model string) { found = append(found, model) }}
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Content{event.Text("look"), event.Image("data:image/png;base64,iVBORw0KGgo=")}}}}
	for _, calls := range []int{2, 1} { // the second one is a later process
		b := broker.New(m, o)
		for range calls {
			_, err := b.Generate(t.Context(), r, ignore)
			must.Succeed(t, err)
		}
		if b.Info().Vision {
			t.Error("the model is said to take images")
		}
	}
	var images []int
	for _, q := range srv.Requests() {
		images = append(images, q.Messages[0].Images)
	}
	if diff := cmp.Diff([]int{1, 0, 0, 0}, images); diff != "" || !slices.Equal(found, []string{m.Info().Name}) {
		t.Errorf("found %q, images: %s", found, diff)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	refused := failure(fault.Auth, func(e *llm.Error) { e.Status = http.StatusUnauthorized })
	for name, tt := range map[string]struct {
		first, second error
		refresh       error
		want          bool
		refreshed     int
	}{
		"fresh key":          {first: refused, want: true, refreshed: 1},
		"refused again":      {first: refused, second: refused, refreshed: 1},
		"no fresh key":       {first: refused, refresh: errors.New("the store is down"), refreshed: 1},
		"forbidden, not 401": {first: failure(fault.Auth, func(e *llm.Error) { e.Status = http.StatusForbidden })},
	} {
		old, fresh := member("old", 0, tt.first), member("fresh", 0, tt.second)
		n := 0
		b := broker.New(old, broker.Options{Refresh: func(context.Context) (llm.Model, error) {
			n++
			return fresh, tt.refresh
		}})
		_, err := b.Generate(t.Context(), llm.Request{}, ignore)
		if (err == nil) != tt.want || n != tt.refreshed {
			t.Errorf("%s: %v after %d refreshes", name, err, n)
		}
		if !tt.want && fault.KindOf(err) != fault.Auth {
			t.Errorf("%s: the refusal is hidden by %v", name, err)
		}
	}
}

// TestStatusesThatAreRetried checks the retried statuses of
// docs/openhands/sdk-features-1.58.md section 4 with an adapter and a broker.
func TestStatusesThatAreRetried(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		408: true, 409: true, 429: true, 500: true, 502: true, 503: true, 504: true, 520: true, 529: true,
		400: false, 401: false, 402: false, 403: false, 404: false, 413: false, 422: false,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			defer srv.Close()
			m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL, HTTPClient: srv.Client()})
			must.Succeed(t, err)
			var c clock
			if _, err = broker.New(m, broker.Options{Sleep: c.sleep, Attempts: 2}).Generate(t.Context(), ask("x"), ignore); err == nil || (len(c.waits) == 1) != want {
				t.Errorf("%v with %d retries", err, len(c.waits))
			}
		})
	}
	// A used-up allowance comes with 429 and is not retried.
	srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Fault: &llmtest.Fault{Kind: llmtest.Quota}}}})
	m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1"})
	must.Succeed(t, err)
	if _, err := broker.New(m, broker.Options{}).Generate(t.Context(), ask("x"), ignore); fault.KindOf(err) != fault.Quota || srv.Count() != 1 {
		t.Errorf("quota: %v after %d calls", err, srv.Count())
	}
}

// TestExpectLearns checks that the billed tokens correct the estimate of a
// conversation.
func TestExpectLearns(t *testing.T) {
	t.Parallel()
	m := priced(func() float64 { return 0 })
	m.gen = func(_ int, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		est := llm.EstimateTokens(r.Messages, r.Tools)
		return &llm.Response{Usage: llm.Usage{Prompt: est * 3 / 4}, CostKnown: true}, nil
	}
	b := broker.New(m, broker.Options{})
	r := ask(strings.Repeat("some words of a prompt ", 1_000))
	r.Session = "c1"
	plain := llm.EstimateTokens(r.Messages, nil)
	if got := b.Expect(r); got != plain+plain/5 {
		t.Errorf("before the first call %d, estimate %d", got, plain)
	}
	if _, err := b.Generate(t.Context(), r, ignore); err != nil {
		t.Fatal(err)
	}
	if got := b.Expect(r); got != plain*3/4 {
		t.Errorf("after it %d, billed %d", got, plain*3/4)
	}
	longer := r
	longer.Messages = append(longer.Messages[:1:1], event.Message{Role: event.RoleAssistant, Content: event.Texts(strings.Repeat("x", 700))})
	since := llm.EstimateTokens(longer.Messages, nil) - plain
	if got := b.Expect(longer); got != plain*3/4+since+since/5 {
		t.Errorf("%d for %d new tokens", got, since)
	}
	for name, other := range map[string]llm.Request{
		"another conversation": {Messages: r.Messages, Session: "c2"},
		"none":                 {Messages: r.Messages},
		"another service":      {Messages: append(ask("summarize").Messages, r.Messages...), Session: "c1"},
	} {
		est := llm.EstimateTokens(other.Messages, nil)
		if got := b.Expect(other); got != est+est/5 {
			t.Errorf("%s: %d, estimate %d", name, got, est)
		}
	}
}

// TestExpectReadsOnlyNewMessages compares the estimate of a history that grows,
// shrinks and changes with one computed from the start.
func TestExpectReadsOnlyNewMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := broker.New(priced(nil), broker.Options{})
		r := llm.Request{Session: "c", Messages: ask("system").Messages}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if n := len(r.Messages); n > 1 && rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
				r.Messages = r.Messages[: rapid.IntRange(1, n-1).Draw(t, "left") : n-1]
			}
			text := strings.Repeat("x", rapid.IntRange(0, 200).Draw(t, "length"))
			r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], ask(text).Messages...)
			plain := llm.EstimateTokens(r.Messages, nil)
			if got := b.Expect(r); got != plain+plain/5 {
				t.Fatalf("expected %d, estimate %d", got, plain)
			}
		}
	})
}

// TestLongPromptsCostMore reserves and settles at the price of long prompts.
func TestLongPromptsCostMore(t *testing.T) {
	t.Parallel()
	info, _ := catalog.Default().Describe(llm.Config{Model: "gemini/gemini-2.5-pro"}, "gemini")
	usage := llm.Usage{Prompt: 300_000, Output: 1_000}
	cost, _ := info.Price.Cost(usage)
	m := &fake{info: info}
	m.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Usage: usage, Cost: cost, CostKnown: true}, nil
	}
	budget := broker.NewBudget(2)
	b := broker.New(m, broker.Options{Budget: budget})
	r := ask(strings.Repeat("word ", 180_000))
	resp, err := b.Generate(t.Context(), r, ignore)
	must.Succeed(t, err)
	const want = 0.3*2.5 + 0.001*15
	if d := resp.Cost - want; d > 1e-9 || d < -1e-9 {
		t.Errorf("cost %v, want %v", resp.Cost, want)
	}
	if _, spent, _ := budget.State(); spent < want {
		t.Errorf("spent %v", spent)
	}
	budget.SetLimit(0.8) // left: less than 308,000 tokens at the long price
	if _, err := b.Generate(t.Context(), r, ignore); fault.KindOf(err) != fault.Limit {
		t.Errorf("reserved at the plain price: %v", err)
	}
}
