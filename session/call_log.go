package session

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
)

// maxCallLog bounds the log of one call: 4 MiB. Beyond it the history is left
// out.
const maxCallLog = 4 << 20

// loggedModel is a model whose calls are recorded in the conversation as events, from which
// clients write files (fields log_completions and log_completions_folder of an
// LLM; openhands-sdk 1.58, event_service.py, _setup_llm_log_streaming).
type loggedModel struct {
	llm.Model
	w *worker
	l *spec.LLM
}

// Generate implements [llm.Model].
func (m loggedModel) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	resp, err := m.Model.Generate(ctx, r, onDelta)
	m.w.recordCall(m.l, m.entry(m.l.Request(r), resp, err))
	return resp, err
}

// callLog is the log of a call, in the keys of the reference
// (llm/utils/telemetry.py, log_llm_call).
type callLog struct {
	ContextWindow int             `json:"context_window"`
	Messages      []event.Message `json:"messages"`
	LeftOut       string          `json:"messages_left_out,omitempty"`
	Tools         []loggedTool    `json:"tools"`
	Settings      loggedSettings  `json:"kwargs"`
	Response      *loggedResponse `json:"response,omitempty"`
	Error         string          `json:"error,omitempty"`
	Cost          float64         `json:"cost"`
	Timestamp     float64         `json:"timestamp"` // seconds since 1970
	Latency       float64         `json:"latency_sec"`
	Usage         *loggedUsage    `json:"usage_summary,omitempty"`
}

type loggedTool struct {
	Type     string         `json:"type"`
	Function loggedFunction `json:"function"`
}

type loggedFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type loggedSettings struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Seed        *int     `json:"seed,omitempty"`
	MaxTokens   int      `json:"max_completion_tokens,omitempty"`
	Effort      string   `json:"reasoning_effort,omitempty"`
}

type loggedResponse struct {
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Choices []loggedChoice `json:"choices"`
}

type loggedChoice struct {
	Message event.Message `json:"message"`
	Finish  llm.Finish    `json:"finish_reason"`
}

type loggedUsage struct {
	Prompt    int `json:"prompt_tokens"`
	Output    int `json:"completion_tokens"`
	Reasoning int `json:"reasoning_tokens"`
	CacheRead int `json:"cache_read_tokens"`
}

// entry describes a call.
func (m loggedModel) entry(r llm.Request, resp *llm.Response, err error) *callLog {
	out := &callLog{
		ContextWindow: m.Info().ContextWindow, Messages: r.Messages, Timestamp: float64(time.Now().UnixMilli()) / 1e3,
		Settings: loggedSettings{r.Temperature, r.TopP, r.TopK, r.Seed, r.MaxOutputTokens, r.ReasoningEffort},
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, loggedTool{"function", loggedFunction{t.Name, t.Description, t.Parameters}})
	}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Cost, out.Latency = resp.Cost, resp.Latency.Seconds()
	out.Response = &loggedResponse{resp.ID, resp.Model, []loggedChoice{{resp.Message, resp.Finish}}}
	u := resp.Usage
	out.Usage = &loggedUsage{u.Prompt, u.Output, u.Reasoning, u.CacheRead}
	return out
}

// recordCall writes the log of a call into the conversation. The call stands if
// that fails; the next append of the run fails in the same way, and ends it.
func (w *worker) recordCall(l *spec.LLM, entry *callLog) {
	present := w.c.active.Load() // w may be starting, or closed
	if present == nil {
		return
	}
	raw, err := json.Marshal(entry)
	if err == nil && len(raw) > maxCallLog {
		entry.LeftOut = fmt.Sprintf("%d messages: the log has %d bytes, and may have %d", len(entry.Messages), len(raw), maxCallLog)
		entry.Messages = nil
		raw, err = json.Marshal(entry)
	}
	if err == nil {
		err = present.Record(w.c.m.ctx, &event.LLMCompletionLogEvent{
			Base:     event.NewBase(event.SourceEnvironment),
			Filename: fmt.Sprintf("%s-%.3f-%04x.json", strings.ReplaceAll(l.Model, "/", "__"), entry.Timestamp, rand.N(1<<16)),
			LogData:  string(w.c.secrets.MaskJSON(raw)), ModelName: l.Model, UsageID: l.UsageID,
		})
	}
	if err != nil {
		w.c.m.o.Log.Warn("record a call", "conversation", w.c.id, "err", err)
	}
}
