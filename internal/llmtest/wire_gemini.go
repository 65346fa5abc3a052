package llmtest

import (
	"fmt"
	"strings"
)

// geminiWire encodes Gemini's generateContent, see
// https://ai.google.dev/api/generate-content.
type geminiWire struct{}

func (geminiWire) finishReason(finish string) string {
	switch finish {
	case "stop", "tool_calls":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	}
	return finish
}

// frame returns one GenerateContentResponse.
func (w geminiWire) frame(a *answer, parts, finish string) string {
	u := a.usage
	usage := fmt.Sprintf(`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,"cachedContentTokenCount":%d,"thoughtsTokenCount":%d}`,
		u.Input, u.Output-u.Reasoning, u.Input+u.Output, u.Cached, u.Reasoning)
	tail := fmt.Sprintf(`%s,"modelVersion":%s,"responseId":%s}`, usage, q(a.req.Model), q(a.id))
	if a.empty {
		return "{" + tail
	}
	if finish != "" {
		finish = `,"finishReason":` + q(w.finishReason(finish))
	}
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + finish + `,"index":0}],` + tail
}

func thoughtPart(s string) string { return `{"thought":true,"text":` + q(s) + `}` }
func textPart(s string) string    { return `{"text":` + q(s) + `}` }

// callPart returns call number i. Only the first of a step is signed.
func callPart(c madeCall, i int) string {
	sig := ""
	if i == 0 {
		sig = `,"thoughtSignature":` + q(sign("thought", c.name))
	}
	return fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}%s}`, q(c.id), q(c.name), orObject(c.args), sig)
}

func (w geminiWire) body(a *answer) string {
	var parts []string
	if a.reasoning != "" {
		parts = append(parts, thoughtPart(a.reasoning))
	}
	if a.text != "" {
		parts = append(parts, textPart(a.text))
	}
	for i, c := range a.calls {
		parts = append(parts, callPart(c, i))
	}
	return w.frame(a, strings.Join(parts, ","), a.finish)
}

func (w geminiWire) stream(a *answer) []frame {
	f := &frames{}
	for _, s := range pieces(a.reasoning, a.chunk) {
		f.add(partDelta, "", w.frame(a, thoughtPart(s), ""))
	}
	for _, s := range pieces(a.text, a.chunk) {
		f.add(partDelta, "", w.frame(a, textPart(s), ""))
	}
	for i, c := range a.calls {
		f.args(i, "", w.frame(a, callPart(c, i), ""))
	}
	f.add(partFinal, "", w.frame(a, textPart(""), a.finish))
	return f.list
}

func (geminiWire) failure(e *apiError, _ string) (int, string) {
	if e.kind == ContentFilter && e.status == 0 {
		return 200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":` + q(e.message) + `},"usageMetadata":{"promptTokenCount":0,"totalTokenCount":0}}`
	}
	status, word, message, details := e.gemini()
	return status, fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%s,"details":%s}}`, status, q(message), q(word), details)
}

func (w geminiWire) failureFrames(e *apiError, _ *answer) []frame {
	_, body := w.failure(e, "")
	return []frame{{data: body, part: partFinal}}
}
