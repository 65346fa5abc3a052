package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// probeResult is what one probe found.
type probeResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	err    error
}

// answerTokens bounds the answers of probes; models that reason need room for
// it before their first word.
const answerTokens = 2_048

// prober asks a model small questions.
type prober struct {
	model  llm.Model
	effort string
	// cost of all calls in US dollars, and how many had no price.
	cost     float64
	unpriced int
	figures  broker.Timing // of the streamed answer
}

func (p *prober) ask(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	if r.MaxOutputTokens == 0 {
		r.MaxOutputTokens = answerTokens
	}
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

func failed(name string, err error) probeResult {
	return probeResult{Name: name, Detail: oneLine(err.Error()), err: err}
}

// quote is an answer, or its beginning, on one line.
func quote(r *llm.Response) string {
	text := strings.TrimSpace(event.JoinText(r.Message.Content))
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("%q", console.Line(text))
}

// answers finds out whether the model answers at all: address, key and name.
func (p *prober) answers(ctx context.Context) probeResult {
	resp, err := p.ask(ctx, llm.Request{Messages: say("Reply with the single word: ready"), NoStream: true}, nil)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeEmpty {
		return probeResult{Name: "answer", OK: true, Detail: "the key is accepted, but the answer was empty"}
	}
	if err != nil {
		return failed("answer", err)
	}
	return probeResult{Name: "answer", OK: true, Detail: fmt.Sprintf("%s after %.2f s", quote(resp), resp.Latency.Seconds())}
}

// streams finds out whether the answer comes in pieces.
func (p *prober) streams(ctx context.Context) probeResult {
	pieces := 0
	resp, err := p.ask(ctx, llm.Request{Messages: say("Count from 1 to 40: the numbers only, separated by spaces.")}, func(d llm.Delta) {
		if d.Text != "" || d.Reasoning != "" {
			pieces++
		}
	})
	if err != nil {
		return failed("streaming", err)
	}
	p.figures = broker.TimingOf(resp)
	c := probeResult{Name: "streaming", OK: pieces > 1, Detail: fmt.Sprintf("%d pieces, the first after %.2f s", pieces, p.figures.FirstToken.Seconds())}
	if c.OK && p.figures.TokensPerSecond > 0 {
		c.Detail += fmt.Sprintf(", %.0f tokens/s", p.figures.TokensPerSecond)
	}
	return c
}

// calls finds out whether the model calls a tool as it is told to.
func (p *prober) calls(ctx context.Context) probeResult {
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
			return probeResult{Name: "tools", Detail: "the call's arguments are not what the schema says: " + console.Line(call.Arguments)}
		}
		return probeResult{Name: "tools", OK: true, Detail: "called with the right arguments"}
	}
	return probeResult{Name: "tools", Detail: "no call; it said " + quote(resp)}
}

// sees finds out whether the model sees an image: a red square.
func (p *prober) sees(ctx context.Context) probeResult {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{R: 230, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return failed("images", err)
	}
	picture := event.Content{Type: event.TypeImage, ImageURLs: []string{"data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())}}
	resp, err := p.ask(ctx, llm.Request{Messages: say("Which colour is this picture? Answer with one English word.", picture)}, nil)
	if err != nil {
		return failed("images", err)
	}
	if strings.Contains(strings.ToLower(event.JoinText(resp.Message.Content)), "red") {
		return probeResult{Name: "images", OK: true, Detail: "saw the red square"}
	}
	return probeResult{Name: "images", Detail: "a red square was taken, but not seen; it said " + quote(resp)}
}
