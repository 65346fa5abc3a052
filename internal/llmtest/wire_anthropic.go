package llmtest

import (
	"fmt"
	"strings"
)

// anthropicWire encodes Anthropic Messages, see
// https://docs.anthropic.com/en/api/messages and …/streaming.
type anthropicWire struct{}

func (anthropicWire) stopReason(finish string) string {
	switch finish {
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	}
	return finish
}

// usage counts uncached input separately from cached. output is the output so
// far.
func (anthropicWire) usage(u Usage, output int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,"service_tier":"standard"}`,
		u.Input-u.Cached-u.CacheWrite, u.CacheWrite, u.Cached, u.CacheWrite, output)
}

func (w anthropicWire) message(a *answer, content, stop string, output int) string {
	return fmt.Sprintf(`{"id":%s,"type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%s,"stop_sequence":null,"usage":%s}`,
		q(a.id), q(a.req.Model), content, stop, w.usage(a.usage, output))
}

func (w anthropicWire) body(a *answer) string {
	var blocks []string
	if a.reasoning != "" {
		blocks = append(blocks, fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%s}`, q(a.reasoning), q(sign("thinking", a.reasoning))))
	}
	if a.redacted != "" {
		blocks = append(blocks, `{"type":"redacted_thinking","data":`+q(a.redacted)+`}`)
	}
	if a.text != "" {
		blocks = append(blocks, `{"type":"text","text":`+q(a.text)+`}`)
	}
	for _, c := range a.calls {
		// Malformed arguments make the body malformed: there is no string to
		// hide them in.
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, q(c.id), q(c.name), orObject(c.args)))
	}
	return w.message(a, strings.Join(blocks, ","), q(w.stopReason(a.finish)), a.usage.Output)
}

func orObject(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// blockFrames numbers the content blocks of a stream.
type blockFrames struct {
	frames
	index  int
	pinged bool
}

func (f *blockFrames) start(block string) {
	f.add(partOpen, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, f.index, block))
	f.ping()
}

func (f *blockFrames) ping() {
	if !f.pinged {
		f.add(partOpen, "ping", `{"type":"ping"}`)
		f.pinged = true
	}
}

func (f *blockFrames) delta(p part, fields string) {
	f.add(p, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{%s}}`, f.index, fields))
}

func (f *blockFrames) stop() {
	f.add(partOpen, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, f.index))
	f.index++
}

func (w anthropicWire) stream(a *answer) []frame {
	f := &blockFrames{frames: frames{named: true}}
	f.add(partOpen, "message_start", `{"type":"message_start","message":`+w.message(a, "", "null", min(1, a.usage.Output))+`}`)
	if a.reasoning != "" {
		f.start(`{"type":"thinking","thinking":"","signature":""}`)
		for _, s := range pieces(a.reasoning, a.chunk) {
			f.delta(partDelta, `"type":"thinking_delta","thinking":`+q(s))
		}
		f.delta(partOpen, `"type":"signature_delta","signature":`+q(sign("thinking", a.reasoning)))
		f.stop()
	}
	if a.redacted != "" {
		f.start(`{"type":"redacted_thinking","data":` + q(a.redacted) + `}`)
		f.stop()
	}
	if a.text != "" {
		f.start(`{"type":"text","text":""}`)
		for _, s := range pieces(a.text, a.chunk) {
			f.delta(partDelta, `"type":"text_delta","text":`+q(s))
		}
		f.stop()
	}
	for i, c := range a.calls {
		f.start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, q(c.id), q(c.name)))
		f.delta(partOpen, `"type":"input_json_delta","partial_json":""`)
		for _, s := range pieces(c.args, a.chunk) {
			f.delta(partArgs, `"type":"input_json_delta","partial_json":`+q(s))
			f.list[len(f.list)-1].call = i
		}
		f.stop()
	}
	f.ping()
	f.add(partFinal, "message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":%s}`, q(w.stopReason(a.finish)), w.usage(a.usage, a.usage.Output)))
	f.add(partFinal, "message_stop", `{"type":"message_stop"}`)
	return f.list
}

func (anthropicWire) failure(e *apiError, requestID string) (int, string) {
	status, kind, message := e.anthropic()
	return status, fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`, q(kind), q(message), q(requestID))
}

func (w anthropicWire) failureFrames(e *apiError, a *answer) []frame {
	_, body := w.failure(e, a.ids.make("req_"))
	return []frame{{event: "error", data: body, part: partFinal}}
}
