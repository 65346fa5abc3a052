package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// answerTokens bounds the answers of probes; models that reason need room for
// it before their first word.
const answerTokens = 2_048

func (p *prober) ask(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	r.MaxOutputTokens = cmp.Or(r.MaxOutputTokens, answerTokens)
	r.ReasoningEffort = p.effort
	system := event.Message{Role: event.RoleSystem, Content: event.Texts("You answer briefly and exactly.")}
	r.Messages = append([]event.Message{system}, r.Messages...)
	resp, err := llm.Complete(ctx, p.model, r, onDelta)
	if err != nil {
		return nil, err
	}
	if resp.CostKnown {
		p.cost += resp.Cost
	} else {
		p.unpriced++
	}
	return resp, nil
}

func say(text string, before ...event.Content) []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: append(before, event.Text(text))}}
}

func failed(name string, err error) Result {
	return Result{Name: name, Detail: err.Error(), Err: err}
}

// quote is an answer, or its beginning, on one line.
func quote(r *llm.Response) string {
	text := strings.TrimSpace(event.JoinText(r.Message.Content))
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return strconv.Quote(text)
}

// answers finds out whether the model answers at all: address, key and name.
func (p *prober) answers(ctx context.Context) Result {
	resp, err := p.ask(ctx, llm.Request{Messages: say("Reply with the single word: ready"), NoStream: true}, nil)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeEmpty {
		return Result{Name: "answer", OK: true, Detail: "the key is accepted, but the answer was empty"}
	}
	if err != nil {
		return failed("answer", err)
	}
	return Result{Name: "answer", OK: true, Detail: fmt.Sprintf("%s after %.2f s", quote(resp), resp.Latency.Seconds())}
}

// streams finds out whether the answer comes in pieces.
func (p *prober) streams(ctx context.Context) Result {
	pieces := 0
	resp, err := p.ask(ctx, llm.Request{Messages: say("Count from 1 to 40: the numbers only, separated by spaces.")}, func(d llm.Delta) {
		if d.Text != "" || d.Reasoning != "" {
			pieces++
		}
	})
	if err != nil {
		return failed("streaming", err)
	}
	p.firstToken = resp.FirstByte
	if writing := resp.Latency - resp.FirstByte; writing > 0 {
		p.speed = float64(resp.Usage.Output) / writing.Seconds()
	}
	c := Result{Name: "streaming", OK: pieces > 1, Detail: fmt.Sprintf("%d pieces, the first after %.2f s", pieces, p.firstToken.Seconds())}
	if c.OK && p.speed > 0 {
		c.Detail += fmt.Sprintf(", %.0f tokens/s", p.speed)
	}
	return c
}

// calls finds out whether the model calls a tool as it is told to.
func (p *prober) calls(ctx context.Context) Result {
	tool := llm.Tool{
		Name: "report_weather", Description: "Reports the weather of a city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"]}`),
	}
	resp, err := p.ask(ctx, llm.Request{Messages: say("Call the tool report_weather for the city Paris."), Tools: []llm.Tool{tool}}, nil)
	if err != nil {
		return failed("tools", err)
	}
	for _, call := range resp.Message.ToolCalls {
		var args struct {
			City string `json:"city"`
		}
		if call.Name != tool.Name {
			continue
		}
		if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || args.City == "" {
			return Result{Name: "tools", Detail: "the call's arguments are not what the schema says: " + call.Arguments}
		}
		return Result{Name: "tools", OK: true, Detail: "called with the right arguments"}
	}
	return Result{Name: "tools", Detail: "no call; it said " + quote(resp)}
}

// sees finds out whether the model sees an image: a red square.
func (p *prober) sees(ctx context.Context) Result {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{R: 230, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return failed("images", err)
	}
	picture := event.Content{Type: event.TypeImage, ImageURLs: []string{"data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())}}
	offered := p.model.Info().Vision
	resp, err := p.ask(ctx, llm.Request{Messages: say("Which colour is this picture? Answer with one English word.", picture)}, nil)
	if err != nil {
		return failed("images", err)
	}
	if offered && !p.model.Info().Vision { // the layer below has asked again without it
		return Result{Name: "images", Detail: "the server refuses images; without the picture the model answers"}
	}
	if strings.Contains(strings.ToLower(event.JoinText(resp.Message.Content)), "red") {
		return Result{Name: "images", OK: true, Detail: "saw the red square"}
	}
	return Result{Name: "images", Detail: "a red square was taken, but not seen; it said " + quote(resp)}
}
