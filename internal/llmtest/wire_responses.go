package llmtest

import (
	"cmp"
	"fmt"
	"strings"
)

// responsesWire encodes OpenAI Responses, see
// https://platform.openai.com/docs/api-reference/responses and
// …/responses-streaming.
type responsesWire struct{}

// outItem is one output item in its finished and its opening form.
type outItem struct {
	id, kind   string
	open, done string
	text       string // the streamed parts
	call       int
	made       madeCall
}

func (responsesWire) items(a *answer) []outItem {
	var items []outItem
	if a.reasoning != "" {
		id := a.ids.make("rs_")
		enc := ""
		if a.req.includeEncrypted {
			enc = `,"encrypted_content":` + q(sign("encrypted", id+"\x00"+a.reasoning))
		}
		items = append(items, outItem{
			id: id, kind: "reasoning", text: a.reasoning,
			open: fmt.Sprintf(`{"id":%s,"type":"reasoning","summary":[]%s}`, q(id), enc),
			done: fmt.Sprintf(`{"id":%s,"type":"reasoning","summary":[{"type":"summary_text","text":%s}]%s}`, q(id), q(a.reasoning), enc),
		})
	}
	if a.text != "" || len(a.calls) == 0 && !a.empty {
		id := a.ids.make("msg_")
		items = append(items, outItem{
			id: id, kind: "message", text: a.text,
			open: fmt.Sprintf(`{"id":%s,"type":"message","status":"in_progress","role":"assistant","content":[]}`, q(id)),
			done: fmt.Sprintf(`{"id":%s,"type":"message","status":"completed","role":"assistant","content":[%s]}`, q(id), outputText(a.text)),
		})
	}
	for i, c := range a.calls {
		id := a.ids.make("fc_")
		call := func(args, status string) string {
			return fmt.Sprintf(`{"id":%s,"type":"function_call","status":%s,"call_id":%s,"name":%s,"arguments":%s}`, q(id), q(status), q(c.id), q(c.name), q(args))
		}
		items = append(items, outItem{
			id: id, kind: "function_call", text: c.args, call: i, made: c,
			open: call("", "in_progress"), done: call(c.args, "completed"),
		})
	}
	return items
}

func outputText(s string) string {
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + q(s) + `}`
}

// status maps the finish reason to the status and the incomplete_details.
func (responsesWire) status(a *answer) (status, details string) {
	switch a.finish {
	case "stop", "tool_calls":
		return "completed", "null"
	case "length":
		return "incomplete", `{"reason":"max_output_tokens"}`
	default:
		return "incomplete", `{"reason":` + q(a.finish) + `}`
	}
}

// response returns the response object. output holds finished items.
func (responsesWire) response(a *answer, status, details, failure string, output []string, usage bool) string {
	u := "null"
	if usage {
		u = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			a.usage.Input, a.usage.Cached, a.usage.CacheWrite, a.usage.Output, a.usage.Reasoning, a.usage.Input+a.usage.Output)
	}
	return fmt.Sprintf(`{"id":%s,"object":"response","created_at":%d,"status":%s,"error":%s,"incomplete_details":%s,"instructions":null,"max_output_tokens":null,"model":%s,"output":[%s],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":%s,"user":null,"metadata":{}}`,
		q(a.id), a.created, q(status), failure, details, q(a.req.Model), strings.Join(output, ","), u)
}

func (w responsesWire) body(a *answer) string {
	status, details := w.status(a)
	var output []string
	for _, it := range w.items(a) {
		output = append(output, it.done)
	}
	return w.response(a, status, details, "null", output, true)
}

// responseFrames numbers the events of a response.
type responseFrames struct {
	frames
	seq int
}

// event adds an event whose further fields are in fields.
func (f *responseFrames) event(p part, kind, fields string) {
	f.add(p, kind, fmt.Sprintf(`{"type":%s,"sequence_number":%d%s}`, q(kind), f.seq, fields))
	f.seq++
}

func (w responsesWire) stream(a *answer) []frame {
	f := &responseFrames{frames: frames{named: true}}
	started := `,"response":` + w.response(a, "in_progress", "null", "null", nil, false)
	f.event(partOpen, "response.created", started)
	f.event(partOpen, "response.in_progress", started)
	var output []string
	for i, it := range w.items(a) {
		f.event(partOpen, "response.output_item.added", fmt.Sprintf(`,"output_index":%d,"item":%s`, i, it.open))
		at := fmt.Sprintf(`,"item_id":%s,"output_index":%d`, q(it.id), i)
		switch it.kind {
		case "reasoning":
			f.reasoning(it, at, a.chunk)
		case "message":
			f.message(it, at, a.chunk)
		default:
			f.call(it, at, a.chunk)
		}
		f.event(partOpen, "response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, i, it.done))
		output = append(output, it.done)
	}
	status, details := w.status(a)
	f.event(partFinal, "response."+status, `,"response":`+w.response(a, status, details, "null", output, true))
	return f.list
}

func (f *responseFrames) reasoning(it outItem, at string, chunk int) {
	at += `,"summary_index":0`
	f.event(partOpen, "response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
	for _, s := range pieces(it.text, chunk) {
		f.event(partDelta, "response.reasoning_summary_text.delta", at+`,"delta":`+q(s))
	}
	f.event(partOpen, "response.reasoning_summary_text.done", at+`,"text":`+q(it.text))
	f.event(partOpen, "response.reasoning_summary_part.done", at+`,"part":{"type":"summary_text","text":`+q(it.text)+`}`)
}

func (f *responseFrames) message(it outItem, at string, chunk int) {
	at += `,"content_index":0`
	f.event(partOpen, "response.content_part.added", at+`,"part":`+outputText(""))
	for _, s := range pieces(it.text, chunk) {
		f.event(partDelta, "response.output_text.delta", at+`,"logprobs":[],"delta":`+q(s))
	}
	f.event(partOpen, "response.output_text.done", at+`,"logprobs":[],"text":`+q(it.text))
	f.event(partOpen, "response.content_part.done", at+`,"part":`+outputText(it.text))
}

func (f *responseFrames) call(it outItem, at string, chunk int) {
	for _, s := range pieces(it.text, chunk) {
		f.event(partArgs, "response.function_call_arguments.delta", at+`,"delta":`+q(s))
		f.list[len(f.list)-1].call = it.call
	}
	f.event(partOpen, "response.function_call_arguments.done", at+`,"name":`+q(it.made.name)+`,"arguments":`+q(it.text))
}

func (responsesWire) failure(e *apiError, id string) (int, string) { return chatWire{}.failure(e, id) }

// failureFrames ends the stream with an error event and response.failed, as the
// provider does. Sequence numbers only have to increase, so the earlier events,
// whose number is unknown here, are not counted.
func (w responsesWire) failureFrames(e *apiError, a *answer) []frame {
	_, kind, code, message := e.openAI()
	code = cmp.Or(code, kind)
	f := &responseFrames{frames: frames{named: true}, seq: len(w.stream(a))}
	f.event(partFinal, "error", fmt.Sprintf(`,"code":%s,"message":%s,"param":%s`, q(code), q(message), qOrNull(e.param)))
	failed := fmt.Sprintf(`{"code":%s,"message":%s}`, q(code), q(message))
	f.event(partFinal, "response.failed", `,"response":`+w.response(a, "failed", "null", failed, nil, false))
	return f.list
}
