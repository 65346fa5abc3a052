package ollama_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// bridge puts Ollama's protocol, as documented at https://docs.ollama.com/api, in
// front of a server that speaks Chat Completions, so that the scripted server and
// all its faults can be met over it. Like the real server it gives calls whole,
// answers no ids, and drops everything for which the protocol has no form.
type bridge struct{ next http.RoundTripper }

const shown = `{"details":{"family":"qwen3"},"capabilities":["completion","tools","vision","thinking"],
	"parameters":"stop \"<|im_end|>\"","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`

func (b bridge) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.URL.Path, "/api/show") {
		return answer(r, 200, shown), nil
	}
	in := gjson.ParseBytes(body)
	if n := in.Get("options.num_ctx").Int(); n != 40960 || in.Get("truncate").Bool() {
		return answer(r, 400, fmt.Sprintf(`{"error":"num_ctx is %d"}`, n)), nil
	}
	chat, err := json.Marshal(chatRequest(in))
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.URL.Path = strings.TrimSuffix(r.URL.Path, "/api/chat") + "/v1/chat/completions"
	out.Body, out.ContentLength, out.GetBody = io.NopCloser(bytes.NewReader(chat)), int64(len(chat)), nil
	res, err := b.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	kind := res.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "text/html"):
		return res, nil
	case strings.HasPrefix(kind, "text/event-stream"):
		res.Header.Set("Content-Type", "application/x-ndjson")
		res.Body = &lines{body: res.Body, events: exchange.NewEvents(res.Body)}
		res.ContentLength = -1
		return res, nil
	}
	data, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	data = whole(data)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return res, nil
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// object is a JSON object.
type object = map[string]any

func chatRequest(in gjson.Result) object {
	out := object{"model": in.Get("model").Str, "stream": in.Get("stream").Bool()}
	if out["stream"] == true {
		out["stream_options"] = object{"include_usage": true}
	}
	for from, to := range map[string]string{"options.num_predict": "max_tokens", "options.temperature": "temperature", "options.top_p": "top_p", "tools": "tools"} {
		if v := in.Get(from); v.Exists() {
			out[to] = v.Value()
		}
	}
	var msgs []any
	var open []string // calls without a result, in order: old servers know no ids
	made := 0
	for _, m := range in.Get("messages").Array() {
		msg := object{"role": m.Get("role").Str, "content": m.Get("content").Str}
		if images := m.Get("images").Array(); len(images) > 0 {
			parts := []any{object{"type": "text", "text": "image: " + m.Get("content").Str}}
			for _, i := range images {
				parts = append(parts, object{"type": "image_url", "image_url": object{"url": "data:image/png;base64," + i.Str}})
			}
			msg["content"] = parts
		}
		var calls []any
		for _, c := range m.Get("tool_calls").Array() {
			made++
			id := fmt.Sprintf("call_%d", made)
			open = append(open, id)
			calls = append(calls, object{"id": id, "type": "function", "function": object{"name": c.Get("function.name").Str, "arguments": c.Get("function.arguments").Raw}})
		}
		if calls != nil {
			msg["tool_calls"] = calls
		}
		if m.Get("role").Str == "tool" && len(open) > 0 {
			msg["tool_call_id"] = open[0]
			open = open[1:]
		}
		msgs = append(msgs, msg)
	}
	out["messages"] = msgs
	return out
}

// whole translates an answer that is one document; other text stays.
func whole(data []byte) []byte {
	in := gjson.ParseBytes(data)
	if !gjson.ValidBytes(data) {
		return data
	}
	if e := in.Get("error"); e.Exists() {
		return line(object{"error": e.Get("message").Str})
	}
	msg := object{"role": "assistant", "content": in.Get("choices.0.message.content").String(), "thinking": in.Get("choices.0.message.reasoning_content").String()}
	var calls []any
	for _, c := range in.Get("choices.0.message.tool_calls").Array() {
		calls = append(calls, object{"function": object{"name": c.Get("function.name").Str, "arguments": arguments(c.Get("function.arguments").Str)}})
	}
	msg["tool_calls"] = calls
	return line(object{
		"model": in.Get("model").Str, "message": msg, "done": true, "done_reason": reason(in.Get("choices.0.finish_reason").Str),
		"prompt_eval_count": in.Get("usage.prompt_tokens").Int(), "eval_count": in.Get("usage.completion_tokens").Int(),
	})
}

func arguments(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

func reason(finish string) string {
	if finish == "length" {
		return finish
	}
	return "stop"
}

func line(o object) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o); err != nil {
		return []byte("not JSON\n")
	}
	return b.Bytes()
}

// lines is a stream of events read as a stream of lines.
type lines struct {
	body   io.Closer
	events *exchange.Events
	ready  []byte
	model  string
	finish string
	usage  gjson.Result
	names  []string
	args   []*pieces.Text
	err    error
}

func (l *lines) Close() error { return l.body.Close() }

func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 && l.err == nil {
		data, err := l.events.Next()
		if err != nil {
			l.err = err
			break
		}
		l.take(data)
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	if n > 0 {
		return n, nil
	}
	return 0, l.err
}

func (l *lines) take(data []byte) {
	if string(data) == "[DONE]" {
		l.end()
		return
	}
	if !gjson.ValidBytes(data) {
		l.ready = append(append(l.ready, data...), '\n')
		return
	}
	in := gjson.ParseBytes(data)
	if e := in.Get("error"); e.Exists() {
		l.ready = line(object{"error": e.Get("message").Str})
		return
	}
	l.model = in.Get("model").Str
	if u := in.Get("usage"); u.IsObject() {
		l.usage = u
	}
	delta := in.Get("choices.0.delta")
	text, thought := delta.Get("content"), delta.Get("reasoning_content")
	if text.Str != "" || thought.Str != "" {
		l.ready = line(object{"model": l.model, "message": object{"role": "assistant", "content": raw(text), "thinking": raw(thought)}, "done": false})
	}
	for _, c := range delta.Get("tool_calls").Array() {
		for int(c.Get("index").Int()) >= len(l.names) {
			l.names, l.args = append(l.names, ""), append(l.args, &pieces.Text{})
		}
		l.names[c.Get("index").Int()] += c.Get("function.name").Str
		var p pieces.Piece
		if p.UnmarshalJSON(raw(c.Get("function.arguments"))) == nil {
			l.args[c.Get("index").Int()].Add(string(p))
		}
	}
	if f := in.Get("choices.0.finish_reason").Str; f != "" {
		l.finish = f
	}
}

// raw is a string as it came, perhaps with half a character.
func raw(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return json.RawMessage(`""`)
	}
	return json.RawMessage(v.Raw)
}

func (l *lines) end() {
	for i, name := range l.names {
		l.ready = append(l.ready, line(object{"model": l.model, "message": object{"role": "assistant", "content": "", "tool_calls": []any{object{"function": object{"name": name, "arguments": arguments(l.args[i].String())}}}}, "done": false})...)
	}
	l.ready = append(l.ready, line(object{
		"model": l.model, "message": object{"role": "assistant", "content": ""}, "done": true, "done_reason": reason(l.finish),
		"prompt_eval_count": l.usage.Get("prompt_tokens").Int(), "eval_count": l.usage.Get("completion_tokens").Int(),
	})...)
}
