package ollama

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// wireRequest is the body of a request without tools and messages, which
// historycache.Tools and write write; after https://docs.ollama.com/api#generate-a-chat-completion.
type wireRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	Think     any             `json:"think,omitempty"`
	Format    json.RawMessage `json:"format,omitempty"`
	KeepAlive string          `json:"keep_alive,omitempty"`
	// Truncate and Shift are always false: a prompt or an answer beyond the
	// window is an error or ends there.
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Options  options `json:"options"`
}

type options struct {
	NumCtx      int      `json:"num_ctx"`
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Seed        *int     `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// encode writes the body of r for a model as described by c.
func (m *Model) encode(ctx context.Context, r *llm.Request, c *modelCard) ([][]byte, error) {
	w := wireRequest{
		Model: m.end.WireModel(), Stream: !r.NoStream, Format: r.Schema, KeepAlive: m.keepAlive, Think: think(r.ReasoningEffort, c),
		Options: options{NumCtx: c.window, Stop: r.Stop, Seed: r.Seed},
	}
	if !m.quirks.NoSampling {
		w.Options.Temperature, w.Options.TopP, w.Options.TopK = exchange.Finite(r.Temperature), exchange.Finite(r.TopP), r.TopK
	}
	if r.MaxOutputTokens > 0 {
		w.Options.NumPredict = min(r.MaxOutputTokens, c.window)
	}
	msgs := llm.NormalizeGrown(ctx, r.Messages)
	if len(msgs) == 0 {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	tools := r.Tools
	if r.ToolChoice == "none" {
		tools = nil
	}
	parts, err := m.end.Head(&w, m.tools, tools, writeTool)
	if err != nil {
		return nil, err
	}
	writer := writer{vision: c.vision, thinks: c.thinks}
	body, end, err := m.sent.Encode(ctx, r.Session, fmt.Sprintf("%+v", writer), msgs, writer.write)
	if err != nil {
		return nil, m.end.Unwritten("the history", err)
	}
	tail, _ := end.flush(nil)
	return historycache.Body(append(parts, []byte(`"messages":[`)), body, append(tail, "]}"...)), nil
}

func writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	return historycache.AppendJSON(dst, wireTool{Type: "function", Function: wireFunction{t.Name, t.Description, t.Parameters}})
}

// think is the thinking level to request, nil for the model's default.
func think(effort string, c *modelCard) any {
	if !c.thinks || effort == "" || c.noCard {
		return nil
	}
	if !c.levels {
		return effort != "none"
	}
	switch effort {
	case "none", "minimal", "low":
		return "low" // these models always think
	case "medium":
		return "medium"
	}
	return "high"
}
