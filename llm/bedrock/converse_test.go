package bedrock

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// serve answers with messages of an event stream, checks the signature and
// keeps the request.
func serve(t *testing.T, model string, body *[]byte, frames ...[]byte) *Model {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		must.Report(t, err)
		if body != nil {
			*body = b
		}
		if why := verify(r, b, signer, "eu-west-1"); why != "" {
			t.Error(why)
		}
		if want := "/model/" + httpbinding.EscapePath(strings.TrimPrefix(model, "bedrock/"), true) + "/converse-stream"; r.URL.EscapedPath() != want {
			t.Errorf("path %s, want %s", r.URL.EscapedPath(), want)
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		if _, err := w.Write(slices.Concat(frames...)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	m, err := New(llm.Config{Model: model, BaseURL: srv.URL, AWS: signer, HTTPClient: &http.Client{Transport: plainTransport}}, environ(region))
	must.Succeed(t, err)
	return m
}

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

const (
	sonnet = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
	pixel  = "data:image/jpg;base64,QUJD"
)

// TestWire checks whole request bodies.
func TestWire(t *testing.T) {
	t.Parallel()
	marked := func(s string) event.Content { c := event.Text(s); c.CachePrompt = true; return c }
	warm := 1.5
	long := strings.Repeat("x", 80)
	history := []event.Message{
		{Role: event.RoleSystem, Content: event.List[event.Content]{marked("static"), event.Text("dynamic")}},
		user("go"),
		{
			Role: event.RoleAssistant, Content: event.Texts("ok"),
			ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: "thinking", Thinking: "hm", Signature: "s"}, {Type: "redacted_thinking", Data: "ZA=="}, {Thinking: "unsigned"}, {Signature: "gemini:x"}, {Type: "redacted_thinking", Data: `{"type":"x"}`}},
			ToolCalls:      []event.ToolCall{{ID: "a.1", Name: "x"}, {ID: long, Name: "x", Arguments: "{"}},
		},
		{Role: event.RoleTool, ToolCallID: long, Content: event.List[event.Content]{event.Image(pixel, "https://example.com/a.png"), marked("two")}},
		{Role: event.RoleTool, ToolCallID: "a.1"},
		user("and?"),
	}
	short := callID(long)
	messages := `"messages":[{"role":"user","content":[{"text":"go"}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"reasoningContent":{"redactedContent":"ZA=="}},{"text":"ok"},` +
		`{"toolUse":{"toolUseId":"a_1","name":"x","input":{}}},{"toolUse":{"toolUseId":"` + short + `","name":"x","input":{"malformed_arguments":"{"}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"a_1","content":[{"text":"(no output)"}]}},` +
		`{"toolResult":{"toolUseId":"` + short + `","content":[{"image":{"format":"jpeg","source":{"bytes":"QUJD"}}},{"text":"` + imageBroken + `"},{"text":"two"}]}}%s,{"text":"and?"}]}]}`
	const (
		point  = `{"cachePoint":{"type":"default"}}`
		tools  = `"toolConfig":{"tools":[{"toolSpec":{"name":"x","inputSchema":{"json":{"type":"object","properties":{}}}}}]`
		called = `"toolConfig":{"tools":[{"toolSpec":{"name":"x","description":"Not available now.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}}`
	)
	claude := `"system":[{"text":"static"},` + point + `,{"text":"dynamic"}],` + fmt.Sprintf(messages, ","+point)
	other := `"system":[{"text":"static"},{"text":"dynamic"}],` + fmt.Sprintf(messages, "")
	for name, tt := range map[string]struct{ model, choice, want, history string }{
		"budget":   {sonnet, "", `{` + tools + `},"inferenceConfig":{"maxTokens":40000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":16384},"anthropic_beta":["interleaved-thinking-2025-05-14"]}}`, claude},
		"adaptive": {"bedrock/anthropic.claude-opus-4-6-v1", "auto", `{` + tools + `,"toolChoice":{"auto":{}}},"inferenceConfig":{"maxTokens":40000},"additionalModelRequestFields":{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}}}`, claude},
		"forced":   {sonnet, "x", `{` + tools + `,"toolChoice":{"tool":{"name":"x"}}},"inferenceConfig":{"maxTokens":40000,"temperature":1}}`, claude},
		"required": {sonnet, "required", `{` + tools + `,"toolChoice":{"any":{}}},"inferenceConfig":{"maxTokens":40000,"temperature":1}}`, claude},
		"none":     {"bedrock/amazon.nova-pro-v1:0", "none", `{` + strings.TrimSuffix(called, "}") + `,"inferenceConfig":{"maxTokens":10000,"temperature":1}}`, other},
		"gpt-oss":  {"bedrock/openai.gpt-oss-120b-1:0", "none", `{` + strings.TrimSuffix(called, "}") + `,"inferenceConfig":{"maxTokens":40000,"temperature":1},"additionalModelRequestFields":{"reasoning_effort":"medium"}}`, other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			later := frame("some-future-event", nil)
			m := serve(t, tt.model, &body, later, piece, finish)
			r := llm.Request{Messages: history, Tools: []llm.Tool{{Name: "x"}}, ToolChoice: tt.choice, Temperature: &warm, ReasoningEffort: "medium", MaxOutputTokens: 40_000}
			resp, err := llm.Complete(t.Context(), m, r, nil)
			must.Succeed(t, err)
			if diff := cmp.Diff(strings.TrimSuffix(tt.want, "}")+","+tt.history, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if resp.Usage != (llm.Usage{Prompt: 3, Output: 4}) {
				t.Errorf("usage %+v", resp.Usage)
			}
		})
	}
}

// TestJointClamp checks how prompt and answer share the context window.
func TestJointClamp(t *testing.T) {
	t.Parallel()
	m := newModel(t, nil)
	m.info.ContextWindow, m.info.MaxOutput = 20_000, 8_000
	for name, tt := range map[string]struct{ words, asked, want int }{
		"room":             {1_000, 0, 8_000},
		"asked for less":   {1_000, 500, 500},
		"asked for more":   {1_000, 9_000, 8_000},
		"cut to the rest":  {14_000, 0, 20_000 - 256 - 14_004},
		"never under 1024": {30_000, 0, 1_024},
	} {
		r := llm.Request{Messages: []event.Message{user(strings.Repeat("世", tt.words))}, MaxOutputTokens: tt.asked}
		if got := m.maxTokens(&r, llm.EstimateTokens(r.Messages, nil)); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestAtMostFourMarks(t *testing.T) {
	t.Parallel()
	var body []byte
	m := serve(t, sonnet, &body, piece, finish)
	var msgs []event.Message
	for i := range 9 {
		c := event.Text(fmt.Sprint("m", i))
		c.CachePrompt = true
		msgs = append(msgs, event.Message{Role: event.RoleUser, Content: event.List[event.Content]{c}})
	}
	msgs[0].Role = event.RoleSystem
	if _, err := llm.Complete(t.Context(), m, llm.Request{Messages: msgs}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		got := strings.Contains(string(body), fmt.Sprintf(`"m%d"},{"cachePoint"`, i))
		if want := i == 0 || i > 5; got != want {
			t.Errorf("mark on message %d: %v, want %v", i, got, want)
		}
	}
}

func exception(kind, words string) []byte {
	return rawFrame(map[string]string{":message-type": "exception", ":exception-type": kind}, []byte(`{"message":"`+words+`"}`))
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	stop := func(reason string) []byte { return frame("messageStop", []byte(`{"stopReason":"`+reason+`"}`)) }
	spoilt := slices.Clone(piece)
	spoilt[len(spoilt)-1]++
	for name, tt := range map[string]struct {
		frames  [][]byte
		kind    fault.Kind
		code    string
		retry   bool
		partial bool
	}{
		"throttled":          {[][]byte{piece, exception("throttlingException", "Too many tokens")}, fault.RateLimit, "throttlingException", true, true},
		"throttled all day":  {[][]byte{exception("throttlingException", "Too many tokens per day")}, fault.Quota, "throttlingException", false, false},
		"model stream error": {[][]byte{piece, exception("modelStreamErrorException", "broke")}, fault.Unavailable, "modelStreamErrorException", true, true},
		"internal":           {[][]byte{exception("internalServerException", "x")}, fault.Unavailable, "internalServerException", true, false},
		"too long":           {[][]byte{exception("validationException", "Input is too long for requested model.")}, fault.Context, "validationException", false, false},
		"invalid":            {[][]byte{exception("validationException", "bad field")}, fault.Invalid, "validationException", false, false},
		"unmodelled error":   {[][]byte{rawFrame(map[string]string{":message-type": "error", ":error-code": "InternalFailure", ":error-message": "x"}, nil)}, fault.Unavailable, "InternalFailure", true, false},
		"no messageStop":     {[][]byte{piece}, fault.Unavailable, llm.CodeTruncated, true, true},
		"cut off":            {[][]byte{piece, piece[:30]}, fault.Unavailable, llm.CodeTruncated, true, true},
		"wrong checksum":     {[][]byte{piece, spoilt}, fault.Unavailable, "", true, true},
		"nothing said":       {[][]byte{stop("end_turn")}, fault.Unavailable, llm.CodeEmpty, true, false},
		"guardrail":          {[][]byte{stop("guardrail_intervened")}, fault.Content, "guardrail_intervened", false, false},
		"no room":            {[][]byte{stop("model_context_window_exceeded")}, fault.Context, "", false, false},
		"malformed call":     {[][]byte{piece, stop("malformed_tool_use")}, fault.Unavailable, "malformed_tool_use", true, true},
		"arguments of none":  {[][]byte{frame("contentBlockDelta", []byte(`{"delta":{"toolUse":{"input":"{"}}}`))}, fault.Unavailable, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, sonnet, nil, tt.frames...)
			_, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Code != tt.code || e.Retryable != tt.retry || e.Partial != tt.partial {
				t.Errorf("kind %s, error %+v", fault.KindOf(err), e)
			}
		})
	}
}

// TestRefusals checks error answers in the forms that Amazon uses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	m := newModel(t, nil)
	for name, tt := range map[string]struct {
		status             int
		header, body, code string
		kind               fault.Kind
		retry              bool
	}{
		"throttled":      {429, "ThrottlingException:http://internal.amazon.com/", `{"message":"Too many requests, please wait"}`, "ThrottlingException", fault.RateLimit, true},
		"throttled, 400": {400, "ThrottlingException", `{"message":"Rate exceeded"}`, "ThrottlingException", fault.RateLimit, true},
		"server's 403":   {403, "InternalServerException", `{"message":"x"}`, "InternalServerException", fault.Auth, false},
		"server's 400":   {400, "ServiceUnavailableException", `{"message":"x"}`, "ServiceUnavailableException", fault.Invalid, false},
		"quota":          {400, "ServiceQuotaExceededException", `{"message":"x"}`, "ServiceQuotaExceededException", fault.Quota, false},
		"no access":      {403, "AccessDeniedException", `{"Message":"You don't have access to the model with the specified model ID."}`, "AccessDeniedException", fault.Auth, false},
		"expired":        {403, "", `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}`, "ExpiredTokenException", fault.Auth, false},
		"too long":       {400, "ValidationException", `{"message":"input length and ` + "`max_tokens`" + ` exceed context limit: 1 + 2 > 3"}`, "ValidationException", fault.Context, false},
		"no model":       {404, "ResourceNotFoundException", `{"message":"Could not resolve the foundation model"}`, "ResourceNotFoundException", fault.Invalid, false},
		"not ready":      {429, "ModelNotReadyException", `{"message":"x"}`, "ModelNotReadyException", fault.Unavailable, true},
		"model error":    {424, "ModelErrorException", `{"message":"x"}`, "ModelErrorException", fault.Unavailable, true},
		"model too slow": {408, "ModelTimeoutException", `{"message":"x"}`, "ModelTimeoutException", fault.Timeout, true},
		"not JSON":       {503, "", `upstream`, "", fault.Unavailable, true},
	} {
		e := m.statusError(tt.status, http.Header{"X-Amzn-Errortype": {tt.header}}, []byte(tt.body))
		if fault.KindOf(e) != tt.kind || e.Code != tt.code || e.Retryable != tt.retry || e.Status != tt.status {
			t.Errorf("%s: kind %s, %+v", name, fault.KindOf(e), e)
		}
	}
}

// TestRegion checks the region of a call, and refuses hostile ones.
func TestRegion(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	must.Succeed(t, os.WriteFile(config, []byte("[profile p]\nregion = us-west-2\n"), 0o600))
	t.Setenv("AWS_CONFIG_FILE", config)
	for name, tt := range map[string]struct {
		model, base string
		env         map[string]string
		want        string
	}{
		"ARN":      {"arn:aws:bedrock:eu-north-1:1:inference-profile/x", "", map[string]string{"AWS_REGION": "x-1"}, "eu-north-1"},
		"first":    {"m", "", map[string]string{"AWS_REGION": "x-1", "AWS_DEFAULT_REGION": "y-1"}, "x-1"},
		"base URL": {"m", "https://bedrock-runtime.eu-west-3.amazonaws.com", nil, "eu-west-3"},
		"own":      {"m", "http://localhost:1", nil, "us-east-1"},
		"hostile":  {"m", "", map[string]string{"AWS_REGION": "x.example.com/"}, ""},
		"none":     {"m", "", nil, ""},
	} {
		if got := findRegion(tt.model, tt.base, llm.AWS{}, environ(tt.env)); got != tt.want {
			t.Errorf("%s: region %q, want %q", name, got, tt.want)
		}
	}
	if got := findRegion("m", "", llm.AWS{Profile: "p"}, environ(nil)); got != "us-west-2" {
		t.Errorf("region %q of a profile", got)
	}
}

// TestNoKeys checks the errors of a call that cannot be signed.
func TestNoKeys(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(busy.Close)
	for name, tt := range map[string]struct {
		env   map[string]string
		kind  fault.Kind
		retry bool
	}{
		"none": {map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, fault.Auth, false},
		"busy": {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": busy.URL}, fault.Unavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
				t.Setenv(name, filepath.Join(t.TempDir(), "none"))
			}
			for name, v := range tt.env {
				t.Setenv(name, v)
			}
			m, err := New(llm.Config{Model: sonnet, BaseURL: busy.URL}, environ(region))
			must.Succeed(t, err)
			_, err = llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
			if e, ok := errors.AsType[*llm.Error](err); !ok || fault.KindOf(err) != tt.kind || e.Retryable != tt.retry {
				t.Error(err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for model, tt := range map[string]struct {
		vendor, url, path string
		window            int
		priced            bool
	}{
		"bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0":                                               {"anthropic", "https://bedrock-runtime.eu-west-1.amazonaws.com", "model/global.anthropic.claude-sonnet-4-5-20250929-v1%3A0", 200_000, true},
		"bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1:0":                                           {"anthropic", "https://bedrock-runtime.eu-west-1.amazonaws.com", "model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0", 200_000, false},
		"bedrock/amazon.nova-pro-v1:0":                                                                           {"amazon", "https://bedrock-runtime.eu-west-1.amazonaws.com", "model/amazon.nova-pro-v1%3A0", 300_000, false},
		"bedrock/us.amazon.nova-pro-v1:0":                                                                        {"amazon", "https://bedrock-runtime.eu-west-1.amazonaws.com", "model/us.amazon.nova-pro-v1%3A0", 300_000, true},
		"bedrock/eu.amazon.nova-2-lite-v1:0":                                                                     {"amazon", "https://bedrock-runtime.eu-west-1.amazonaws.com", "model/eu.amazon.nova-2-lite-v1%3A0", 1_000_000, false},
		"bedrock/arn:aws-cn:bedrock:cn-north-1:1:inference-profile/apac.anthropic.claude-sonnet-4-20250514-v1:0": {"anthropic", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "model/arn%3Aaws-cn%3Abedrock%3Acn-north-1%3A1%3Ainference-profile%2Fapac.anthropic.claude-sonnet-4-20250514-v1%3A0", 200_000, false},
	} {
		m, err := New(llm.Config{Model: model}, environ(region))
		must.Succeed(t, err)
		if m.vendor != tt.vendor || m.end.BaseURL != tt.url || m.path != tt.path || m.info.ContextWindow != tt.window || m.info.Price.Known != tt.priced || m.info.Provider != "bedrock" || m.info.Name != model {
			t.Errorf("%s: %s %s %s %+v", model, m.vendor, m.end.BaseURL, m.path, m.info)
		}
	}
	if _, err := New(llm.Config{Model: sonnet}, environ(nil)); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.HintOf(err), "AWS_REGION") {
		t.Errorf("no region: %v", err)
	}
}
