package modeltest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func hang(after int) *llmtest.Script {
	return &llmtest.Script{Turns: []llmtest.Turn{{
		Fault: &llmtest.Fault{Kind: llmtest.Hang, After: after}, Reply: llmtest.Reply{Text: "Some text in chunks."}, Pacing: llmtest.Pacing{ChunkSize: 4},
	}}}
}

func testCancel(t *testing.T, a Adapter) {
	t.Run("before the headers", func(t *testing.T) {
		t.Parallel()
		b := start(t, a, true, hang(0))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan outcome, 1)
		go func() { done <- b.ask(ctx, hello()) }()
		if _, err := b.srv.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if o := <-done; fault.KindOf(o.err) != fault.Canceled {
			t.Errorf("error %v", o.err)
		}
	})
	t.Run("while streaming", func(t *testing.T) {
		t.Parallel()
		b := start(t, a, true, hang(2))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := b.model.Generate(ctx, hello(), func(llm.Delta) { cancel() })
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || fault.KindOf(err) != fault.Canceled || e.Retryable || !e.Partial {
			t.Errorf("error %v", err)
		}
	})
	t.Run("before the call", func(t *testing.T) {
		t.Parallel()
		b := start(t, a, true, &llmtest.Script{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o := b.ask(ctx, hello()); fault.KindOf(o.err) != fault.Canceled {
			t.Errorf("error %v", o.err)
		}
	})
}

func testTimeouts(t *testing.T, a Adapter) {
	tests := map[string]struct {
		after  int
		stream bool
		limits func(*llm.Config)
	}{
		"first token":    {0, true, func(c *llm.Config) { c.FirstTimeout = short }},
		"between tokens": {2, true, func(c *llm.Config) { c.FirstTimeout, c.IdleTimeout = long, short }},
		"total, silent":  {0, true, func(c *llm.Config) { c.Timeout, c.FirstTimeout = short, long }}, // a stream that has begun is bounded by its gaps
		"total of whole": {1, false, func(c *llm.Config) { c.Timeout = short }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, a, tt.stream, hang(tt.after), tt.limits)
			o := b.ask(t.Context(), hello())
			e, ok := errors.AsType[*llm.Error](o.err)
			if !ok || fault.KindOf(o.err) != fault.Timeout || !e.Retryable || e.Partial != (o.text != "") {
				t.Errorf("error %v after %q", o.err, o.text)
			}
		})
	}
	t.Run("the caller's deadline", func(t *testing.T) {
		t.Parallel()
		b := start(t, a, true, hang(1))
		ctx, cancel := context.WithTimeout(t.Context(), short)
		defer cancel()
		o := b.ask(ctx, hello())
		if e, ok := errors.AsType[*llm.Error](o.err); !ok || fault.KindOf(o.err) != fault.Timeout || e.Retryable {
			t.Errorf("error %v", o.err)
		}
	})
}

func testUnreachable(t *testing.T, a Adapter) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	refused := "http://" + ln.Addr().String()
	must.Succeed(t, ln.Close())
	plain := llmtest.StartWith(t, &llmtest.Script{}, llmtest.Options{AllowErrors: true})
	for name, tt := range map[string]struct {
		url, says string
		retryable bool
	}{
		"refused": {refused, "connection refused", true},
		"no host": {"http://no-such-host.invalid", "does not resolve", true},
		"tls":     {strings.Replace(plain.URL, "http:", "https:", 1), "TLS", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A separate client, to ignore the host's proxy.
			client := &http.Client{Transport: &http.Transport{}}
			m, err := a.New(llm.Config{Model: a.Model, BaseURL: tt.url + a.Path, APIKey: "sk-secret-123456", HTTPClient: client})
			must.Succeed(t, err)
			_, err = m.Generate(t.Context(), hello(), func(llm.Delta) {})
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != fault.Unavailable || e.Retryable != tt.retryable || !e.Unreached ||
				!strings.Contains(err.Error(), "cannot reach "+tt.url) || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(fault.HintOf(errors.Unwrap(err)), "--base-url") || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, hint %q", err, fault.HintOf(err))
			}
		})
	}
}

func testConcurrent(t *testing.T, a Adapter) {
	// Unused connections of a burst would delay the server's end.
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b := start(t, a, true, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "echo {{.LastUser}}"}, Pacing: llmtest.Pacing{ChunkSize: 2}}}},
		func(c *llm.Config) { c.HTTPClient = client })
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			word := strings.Repeat("x", i+1)
			r := hello()
			r.Messages[1].Content = event.Texts(word)
			var text strings.Builder
			_, err := b.model.Generate(t.Context(), r, func(d llm.Delta) { text.WriteString(d.Text) })
			if err != nil || text.String() != "echo "+word {
				t.Errorf("call %d: %q, %v", i, text.String(), err)
			}
		})
	}
	wg.Wait()
}

func testIdentity(t *testing.T, a Adapter) {
	script := once(llmtest.Reply{Text: "x"})
	script.APIKey = "sk-right-key-9876543210"
	b := start(t, a, true, script, func(c *llm.Config) {
		c.APIKey = llm.Secret(script.APIKey)
		c.Headers = map[string]string{"X-Extra": "yes"}
	})
	r := hello()
	r.Session = "conversation-1"
	b.must(r)
	req := b.srv.Requests()[0]
	if req.Session != "conversation-1" || req.Headers.Get("X-Extra") != "yes" || req.Headers.Get("X-Litellm-Session-Id") != "conversation-1" {
		t.Errorf("session %q, headers %v", req.Session, req.Headers)
	}
}

func testBadURL(t *testing.T, a Adapter) {
	for _, u := range []string{"localhost:8000", "ftp://x", "http://", "%zz", "/v1"} {
		if _, err := a.New(llm.Config{Model: a.Model, BaseURL: u}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("base URL %q: %v", u, err)
		}
	}
	if _, err := a.New(llm.Config{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no model: %v", err)
	}
}
