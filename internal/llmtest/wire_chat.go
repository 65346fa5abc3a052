package llmtest

import (
	"fmt"
	"strings"
)

// chatWire encodes OpenAI Chat Completions, see
// https://platform.openai.com/docs/api-reference/chat.
type chatWire struct{}

func chatUsage(u Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		u.Input, u.Output, u.Input+u.Output, u.Cached, u.CacheWrite, u.Reasoning)
}

func (chatWire) body(a *answer) string {
	head := fmt.Sprintf(`{"id":%s,"object":"chat.completion","created":%d,"model":%s,"system_fingerprint":"fp_llmtest","service_tier":"default","choices":[`, q(a.id), a.created, q(a.req.Model))
	tail := `],"usage":` + chatUsage(a.usage) + `}`
	if a.empty {
		return head + tail
	}
	var b strings.Builder
	b.WriteString(`{"index":0,"message":{"role":"assistant","content":`)
	if a.text == "" && len(a.calls) > 0 {
		b.WriteString("null")
	} else {
		b.WriteString(q(a.text))
	}
	b.WriteString(`,"refusal":null`)
	if a.reasoning != "" {
		b.WriteString(`,"reasoning_content":` + q(a.reasoning))
	}
	for i, c := range a.calls {
		if i == 0 {
			b.WriteString(`,"tool_calls":[`)
		} else {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, q(c.id), q(c.name), q(c.args))
	}
	if len(a.calls) > 0 {
		b.WriteString("]")
	}
	fmt.Fprintf(&b, `},"logprobs":null,"finish_reason":%s}`, q(a.finish))
	return head + b.String() + tail
}

func (chatWire) stream(a *answer) []frame {
	f := &frames{}
	usage := ""
	if a.req.includeUsage {
		usage = `,"usage":null`
	}
	head := fmt.Sprintf(`{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"service_tier":"default","system_fingerprint":"fp_llmtest","choices":[`, q(a.id), a.created, q(a.req.Model))
	chunk := func(delta, finish string) string {
		return head + `{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + `}]` + usage + `}`
	}
	if !a.empty {
		f.add(partOpen, "", chunk(`"role":"assistant","content":"","refusal":null`, "null"))
		for _, s := range pieces(a.reasoning, a.chunk) {
			f.add(partDelta, "", chunk(`"reasoning_content":`+q(s), "null"))
		}
		for _, s := range pieces(a.text, a.chunk) {
			f.add(partDelta, "", chunk(`"content":`+q(s), "null"))
		}
		chatCallFrames(f, a, chunk)
		f.add(partFinal, "", chunk("", q(a.finish)))
	}
	if a.req.includeUsage {
		f.add(partFinal, "", head+`],"usage":`+chatUsage(a.usage)+`}`)
	}
	f.add(partFinal, "", "[DONE]")
	return f.list
}

// chatCallFrames opens all calls, then sends their arguments alternately, so
// that a client must distinguish them by index.
func chatCallFrames(f *frames, a *answer, chunk func(delta, finish string) string) {
	args := make([][]string, len(a.calls))
	left := 0
	for i, c := range a.calls {
		args[i] = pieces(c.args, a.chunk)
		left += len(args[i])
		f.add(partOpen, "", chunk(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]`, i, q(c.id), q(c.name)), "null"))
	}
	for k := 0; left > 0; k++ {
		for i := range args {
			if k < len(args[i]) {
				f.args(i, "", chunk(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, q(args[i][k])), "null"))
				left--
			}
		}
	}
}

func (chatWire) failure(e *apiError, _ string) (int, string) {
	status, kind, code, message := e.openAI()
	return status, fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`, q(message), q(kind), qOrNull(e.param), qOrNull(code))
}

func (w chatWire) failureFrames(e *apiError, _ *answer) []frame {
	_, body := w.failure(e, "")
	return []frame{{data: body, part: partFinal}}
}
