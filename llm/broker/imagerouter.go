package broker

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// ImageRouter sends requests with images, and long ones, to a model with
// vision, and the others to a cheaper text model
// (docs/openhands/sdk-features.md section 1, "Routers": MultimodalRouter).
type ImageRouter struct {
	vision, text llm.Model
	limit        int
}

var _ llm.Model = (*ImageRouter)(nil)

// NewImageRouter combines a model with vision and a text model. limit is the
// longest prompt for the text model, in tokens; 0 takes its context window. A
// first model without vision is an error of kind Invalid.
func NewImageRouter(vision, text llm.Model, limit int) (*ImageRouter, error) {
	if vision == nil || text == nil {
		return nil, fault.New(fault.Invalid, "an image router needs two models")
	}
	if !vision.Info().Vision {
		return nil, fault.New(fault.Invalid, "the model "+vision.Info().Name+" does not support images").
			Hint("choose a model with vision: `deft llm models` lists them")
	}
	if limit <= 0 {
		limit = text.Info().ContextWindow
	}
	return &ImageRouter{vision, text, limit}, nil
}

// Info implements llm.Model. It describes the model with vision, which supports
// more.
func (m *ImageRouter) Info() llm.Info { return m.vision.Info() }

// Generate implements llm.Model.
func (m *ImageRouter) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	chosen := m.choose(&r)
	resp, err := chosen.Generate(ctx, r, onDelta)
	if err != nil {
		return nil, err
	}
	return servedBy(resp, chosen), nil
}

func (m *ImageRouter) choose(r *llm.Request) llm.Model {
	if hasImage(r.Messages) {
		return m.vision
	}
	if m.limit > 0 && llm.EstimateTokens(r.Messages, r.Tools) > m.limit {
		return m.vision
	}
	return m.text
}

func hasImage(msgs []event.Message) bool {
	for i := range msgs {
		for j := range msgs[i].Content {
			if len(msgs[i].Content[j].ImageURLs) > 0 {
				return true
			}
		}
	}
	return false
}
