package bedrock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/awscred"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// gateway is a Converse server on top of the scripted server of
// internal/llmtest: it checks the signature, writes the request anew in the
// protocol that the server speaks, and the answer as Converse would give it,
// with all its faults.
type gateway struct {
	t      *testing.T
	inner  http.RoundTripper
	signer llm.AWS // zero for bearer tokens
}

// testKey is the key that the suite's server takes where none is said.
const testKey = "sk-test-key-1234567890"

func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	operation := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/model/"), "/"+operation)
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if g.signer != (llm.AWS{}) {
		if why := verify(r, body, g.signer, "eu-west-1"); why != "" {
			g.t.Error(why)
			return answer(403, "UnrecognizedClientException", `{"message":"`+why+`"}`), nil
		}
		key = testKey
	}
	translated, err := toMessages(body, id, operation == "converse-stream")
	if err != nil {
		return nil, err
	}
	next := r.Clone(r.Context())
	next.URL.Path, next.URL.RawPath = "/v1/messages", ""
	next.Body, next.ContentLength = io.NopCloser(bytes.NewReader(translated)), int64(len(translated))
	next.Header.Del("Authorization")
	next.Header.Set("X-Api-Key", key)
	next.Header.Set("Anthropic-Version", "2023-06-01")
	inner := g.inner
	if inner == nil {
		inner = plainTransport
	}
	res, err := inner.RoundTrip(next)
	if err != nil {
		return nil, err
	}
	return fromMessages(res)
}

// plainTransport keeps no connections, so that none outlives the tests.
var plainTransport = &http.Transport{DisableKeepAlives: true}

func answer(status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"X-Amzn-Errortype": {kind}, "Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// verify checks a signature: the signed parts are taken from the request alone.
func verify(r *http.Request, body []byte, by llm.AWS, region string) string {
	given := r.Header.Get("Authorization")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return "no X-Amz-Date"
	}
	_, names, _ := strings.Cut(given, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	again := &http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: http.Header{}, ContentLength: r.ContentLength}
	for name := range strings.SplitSeq(names, ";") {
		if v := r.Header.Values(name); name != "host" && len(v) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	again.Header.Del("X-Amz-Security-Token")
	if err := awscred.Shared(by).Sign(context.WithoutCancel(r.Context()), again, body, region, "bedrock", at); err != nil {
		return err.Error()
	}
	if again.Header.Get("Authorization") != given {
		return "the signature does not fit: " + given
	}
	return ""
}

// converse is a request, as loosely read as the test needs it.
type converse struct {
	System, Messages json.RawMessage
	InferenceConfig  struct {
		MaxTokens         int
		Temperature, TopP *float64
		StopSequences     []string
	}
	ToolConfig *struct {
		Tools []struct {
			ToolSpec struct {
				Name, Description string
				InputSchema       struct{ JSON json.RawMessage }
			}
		}
		ToolChoice map[string]map[string]string
	}
	Additional map[string]any `json:"additionalModelRequestFields"`
}

func toMessages(body []byte, model string, stream bool) ([]byte, error) {
	var c converse
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	out := map[string]any{"model": model, "stream": stream, "max_tokens": max(c.InferenceConfig.MaxTokens, 1)}
	if len(c.System) > 0 {
		out["system"] = toBlocks(gjson.ParseBytes(c.System))
	}
	var msgs []any
	for _, m := range gjson.ParseBytes(c.Messages).Array() {
		msgs = append(msgs, map[string]any{"role": m.Get("role").Str, "content": toBlocks(m.Get("content"))})
	}
	out["messages"] = msgs
	if v := c.InferenceConfig.Temperature; v != nil {
		out["temperature"] = *v
	}
	if v := c.InferenceConfig.StopSequences; v != nil {
		out["stop_sequences"] = v
	}
	if c.ToolConfig != nil {
		var tools []any
		for _, t := range c.ToolConfig.Tools {
			tools = append(tools, map[string]any{"name": t.ToolSpec.Name, "description": t.ToolSpec.Description, "input_schema": t.ToolSpec.InputSchema.JSON})
		}
		out["tools"] = tools
	}
	maps.Copy(out, c.Additional)
	return json.Marshal(out)
}

func toBlocks(list gjson.Result) []any {
	var out []map[string]any
	for _, b := range list.Array() {
		switch {
		case b.Get("cachePoint").Exists():
			if len(out) > 0 {
				out[len(out)-1]["cache_control"] = map[string]string{"type": "ephemeral"}
			}
		case b.Get("image").Exists():
			out = append(out, map[string]any{"type": "image", "source": map[string]string{
				"type": "base64", "media_type": "image/" + b.Get("image.format").Str, "data": b.Get("image.source.bytes").Str,
			}})
		case b.Get("toolUse").Exists():
			out = append(out, map[string]any{
				"type": "tool_use", "id": b.Get("toolUse.toolUseId").Str, "name": b.Get("toolUse.name").Str,
				"input": json.RawMessage(b.Get("toolUse.input").Raw),
			})
		case b.Get("toolResult").Exists():
			out = append(out, map[string]any{
				"type": "tool_result", "tool_use_id": b.Get("toolResult.toolUseId").Str, "content": toBlocks(b.Get("toolResult.content")),
			})
		case b.Get("reasoningContent.redactedContent").Exists():
			out = append(out, map[string]any{"type": "redacted_thinking", "data": b.Get("reasoningContent.redactedContent").Str})
		case b.Get("reasoningContent").Exists():
			out = append(out, map[string]any{
				"type": "thinking", "thinking": b.Get("reasoningContent.reasoningText.text").Str,
				"signature": b.Get("reasoningContent.reasoningText.signature").Str,
			})
		default:
			out = append(out, map[string]any{"type": "text", "text": b.Get("text").Str})
		}
	}
	all := make([]any, len(out))
	for i := range out {
		all[i] = out[i]
	}
	return all
}

// exceptions are Amazon's names of errors.
var exceptions = map[string]string{
	"authentication_error": "UnrecognizedClientException", "rate_limit_error": "ThrottlingException",
	"invalid_request_error": "ValidationException", "overloaded_error": "serviceUnavailableException",
	"api_error": "InternalServerException", "not_found_error": "ResourceNotFoundException",
}

func fromMessages(res *http.Response) (*http.Response, error) {
	kind := res.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "text/html"):
		return res, nil
	case res.StatusCode >= 400:
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if err := res.Body.Close(); err != nil {
			return nil, err
		}
		e := gjson.GetBytes(body, "error")
		out := answer(res.StatusCode, exceptions[e.Get("type").Str]+":http://internal.amazon.com/", `{"message":`+e.Get("message").Raw+`}`)
		for _, h := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
			out.Header[h] = res.Header[h]
		}
		return out, nil
	}
	res.Header.Set("X-Amzn-Requestid", "req-1")
	if strings.HasPrefix(kind, "text/event-stream") {
		res.Header.Set("Content-Type", "application/vnd.amazon.eventstream")
		res.Body = &eventBody{in: exchange.NewEvents(res.Body), body: res.Body}
	} else {
		res.Body = &wholeBody{body: res.Body}
	}
	res.ContentLength = -1
	return res, nil
}

// wholeBody translates a document once all of it is there.
type wholeBody struct {
	body io.ReadCloser
	out  *bytes.Reader
}

func (w *wholeBody) Close() error { return w.body.Close() }

func (w *wholeBody) Read(p []byte) (int, error) {
	if w.out == nil {
		data, err := io.ReadAll(w.body)
		if err != nil {
			return 0, err
		}
		if gjson.ValidBytes(data) {
			data = wholeAnswer(gjson.ParseBytes(data))
		}
		w.out = bytes.NewReader(data)
	}
	return w.out.Read(p)
}

func wholeAnswer(root gjson.Result) []byte {
	content := []any{}
	for _, b := range root.Get("content").Array() {
		switch b.Get("type").Str {
		case "text":
			content = append(content, map[string]any{"text": b.Get("text").Str})
		case "tool_use":
			content = append(content, map[string]any{"toolUse": map[string]any{
				"toolUseId": b.Get("id").Str, "name": b.Get("name").Str, "input": json.RawMessage(b.Get("input").Raw),
			}})
		case "thinking":
			content = append(content, map[string]any{"reasoningContent": map[string]any{"reasoningText": map[string]string{
				"text": b.Get("thinking").Str, "signature": b.Get("signature").Str,
			}}})
		case "redacted_thinking":
			content = append(content, map[string]any{"reasoningContent": map[string]string{"redactedContent": b.Get("data").Str}})
		}
	}
	return encodeJSON(map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": content}},
		"stopReason": stopReason(root.Get("stop_reason").Str), "usage": usageOf(root.Get("usage")),
	})
}

func stopReason(s string) string {
	if s == "refusal" {
		return "content_filtered"
	}
	return s
}

func usageOf(u gjson.Result) map[string]int64 {
	return map[string]int64{
		"inputTokens": u.Get("input_tokens").Int(), "outputTokens": u.Get("output_tokens").Int(),
		"cacheReadInputTokens": u.Get("cache_read_input_tokens").Int(), "cacheWriteInputTokens": u.Get("cache_creation_input_tokens").Int(),
	}
}

func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return b.Bytes()
}

// eventBody translates a stream event by event, as it is read.
type eventBody struct {
	in    *exchange.Events
	body  io.ReadCloser
	out   bytes.Buffer
	usage map[string]int64
	stop  string
}

func (e *eventBody) Close() error { return e.body.Close() }

func (e *eventBody) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		data, err := e.in.Next()
		if err != nil {
			return 0, err
		}
		if !gjson.ValidBytes(data) {
			e.out.Write(frame("contentBlockDelta", data))
			continue
		}
		e.translate(gjson.ParseBytes(data))
	}
	n, err := e.out.Read(p)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (e *eventBody) emit(event string, payload map[string]any) {
	e.out.Write(frame(event, encodeJSON(payload)))
}

func (e *eventBody) delta(index int64, d map[string]any) {
	e.emit("contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": d, "p": "abc"})
}

func (e *eventBody) translate(ev gjson.Result) {
	i := ev.Get("index").Int()
	switch ev.Get("type").Str {
	case "message_start":
		e.usage = usageOf(ev.Get("message.usage"))
		e.emit("messageStart", map[string]any{"role": "assistant"})
	case "content_block_start":
		switch b := ev.Get("content_block"); b.Get("type").Str {
		case "tool_use":
			e.emit("contentBlockStart", map[string]any{"contentBlockIndex": i, "start": map[string]any{"toolUse": map[string]string{"toolUseId": b.Get("id").Str, "name": b.Get("name").Str}}})
		case "redacted_thinking":
			e.delta(i, map[string]any{"reasoningContent": map[string]string{"redactedContent": b.Get("data").Str}})
		}
	case "content_block_delta":
		switch d := ev.Get("delta"); d.Get("type").Str {
		case "text_delta":
			e.delta(i, map[string]any{"text": json.RawMessage(d.Get("text").Raw)})
		case "thinking_delta":
			e.delta(i, map[string]any{"reasoningContent": map[string]any{"text": json.RawMessage(d.Get("thinking").Raw)}})
		case "signature_delta":
			e.delta(i, map[string]any{"reasoningContent": map[string]string{"signature": d.Get("signature").Str}})
		case "input_json_delta":
			e.delta(i, map[string]any{"toolUse": map[string]any{"input": json.RawMessage(d.Get("partial_json").Raw)}})
		}
	case "content_block_stop":
		e.emit("contentBlockStop", map[string]any{"contentBlockIndex": i})
	case "message_delta":
		e.stop = stopReason(ev.Get("delta.stop_reason").Str)
		for k, v := range usageOf(ev.Get("usage")) {
			if v != 0 {
				e.usage[k] = v
			}
		}
	case "message_stop":
		e.emit("messageStop", map[string]any{"stopReason": e.stop})
		e.emit("metadata", map[string]any{"usage": e.usage, "metrics": map[string]int{"latencyMs": 1}})
	case "error":
		name := exceptions[ev.Get("error.type").Str]
		e.out.Write(rawFrame(map[string]string{":message-type": "exception", ":exception-type": name, ":content-type": "application/json"},
			encodeJSON(map[string]string{"message": ev.Get("error.message").Str})))
	}
}

func frame(event string, payload []byte) []byte {
	return rawFrame(map[string]string{":message-type": "event", ":event-type": event, ":content-type": "application/json"}, payload)
}

// rawFrame writes a message of an event stream.
func rawFrame(headers map[string]string, payload []byte) []byte {
	m := eventstream.Message{Payload: payload}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		m.Headers.Set(name, eventstream.StringValue(headers[name]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err) // it writes to memory
	}
	return b.Bytes()
}
