package llmtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

const geminiHello = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"systemInstruction":{"parts":[{"text":"be brief"}]},
"tools":[{"functionDeclarations":[{"name":"terminal","parameters":{"type":"OBJECT","properties":{"command":{"type":"STRING"}}}}]}]}`

// geminiAnswer is a GenerateContentResponse, or an error.
type geminiAnswer struct {
	Candidates []struct {
		Content struct {
			Role  string
			Parts []geminiPart
		}
		FinishReason string
	}
	PromptFeedback struct{ BlockReason string }
	UsageMetadata  struct {
		PromptTokenCount, CandidatesTokenCount, TotalTokenCount, CachedContentTokenCount, ThoughtsTokenCount int64
	}
	Error struct {
		Code            int
		Message, Status string
	}
}

type geminiPart struct {
	Text             string
	Thought          bool
	ThoughtSignature string
	FunctionCall     *struct {
		Name string
		Args json.RawMessage
	}
}

func fromGemini(t *testing.T, answers ...geminiAnswer) said {
	t.Helper()
	var s said
	for _, a := range answers {
		u := a.UsageMetadata
		s.Input, s.Output, s.Cached, s.Thought = u.PromptTokenCount, u.CandidatesTokenCount+u.ThoughtsTokenCount, u.CachedContentTokenCount, u.ThoughtsTokenCount
		s.CacheWrite = 100 // the protocol does not count it
		for _, c := range a.Candidates {
			s.Finish = c.FinishReason
			for _, p := range c.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					s.Names, s.Args = append(s.Names, p.FunctionCall.Name), append(s.Args, string(p.FunctionCall.Args))
					if (len(s.Names) == 1) != (p.ThoughtSignature != "") {
						t.Errorf("call %d has signature %q", len(s.Names), p.ThoughtSignature)
					}
				case p.Thought:
					s.Reasoning += p.Text
				default:
					s.Text += p.Text
				}
			}
		}
	}
	return s
}

// events returns the data of server-sent events.
func events(body string) []string {
	var out []string
	for line := range strings.SplitSeq(body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}

func decodeJSON[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestGemini(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path string
		read func(t *testing.T, body string) []geminiAnswer
	}{
		"whole": {":generateContent", func(t *testing.T, body string) []geminiAnswer {
			return []geminiAnswer{decodeJSON[geminiAnswer](t, body)}
		}},
		"events": {":streamGenerateContent?alt=sse", func(t *testing.T, body string) (all []geminiAnswer) {
			for _, data := range events(body) {
				all = append(all, decodeJSON[geminiAnswer](t, data))
			}
			return all
		}},
		"array": {":streamGenerateContent", func(t *testing.T, body string) []geminiAnswer {
			return decodeJSON[[]geminiAnswer](t, body)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, parse(t, rich))
			res, body, err := post(t, srv, "/v1beta/models/gemini-2.5-pro"+tc.path, geminiHello, "X-Goog-Api-Key", "secret")
			if err != nil || res.StatusCode != 200 {
				t.Fatalf("%v %s", err, body)
			}
			if diff := cmp.Diff(wantRich("STOP"), fromGemini(t, tc.read(t, body)...)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			got := srv.Requests()[0]
			if got.Model != "gemini-2.5-pro" || got.System != "be brief" || got.LastUser() != "hello" || got.Headers.Get("X-Goog-Api-Key") != "[redacted]" {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

// TestGeminiLoop sends calls and reasoning back unchanged, then without the
// signature, which the gemini-3 family refuses.
func TestGeminiLoop(t *testing.T) {
	t.Parallel()
	script := parse(t, rich+"\n  - {reply: {text: 'saw {{.LastToolResult}}'}}")
	srv := llmtest.StartWith(t, script, llmtest.Options{AllowErrors: true})
	const path = "/v1beta/models/gemini-3-pro:generateContent"
	_, body, err := post(t, srv, path, geminiHello)
	must.Succeed(t, err)
	content := decodeJSON[struct {
		Candidates []struct{ Content json.RawMessage }
	}](t, body).Candidates[0].Content
	history := `{"contents":[{"role":"user","parts":[{"text":"hello"}]},` + string(content) + `,{"role":"user","parts":[
		{"functionResponse":{"name":"terminal","response":{"output":"one"}}},{"functionResponse":{"name":"grep","response":{"output":"two"}}}]}]}`
	for _, sig := range decodeJSON[struct{ Parts []geminiPart }](t, string(content)).Parts {
		if sig.ThoughtSignature == "" {
			continue
		}
		res, body, err := post(t, srv, path, strings.Replace(history, sig.ThoughtSignature, "", 1))
		if err != nil || res.StatusCode != 400 || !strings.Contains(body, "missing a thought_signature") {
			t.Errorf("without signature: %v %s", err, body)
		}
	}
	if res, body, err := post(t, srv, path, history); err != nil || res.StatusCode != 200 || !strings.Contains(body, "saw two") {
		t.Errorf("whole history: %v %s", err, body)
	}
}
