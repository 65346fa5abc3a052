package controller

import (
	"context"

	"github.com/deft-dev/deft/llm"
)

// Service returns the model of a service for calls outside of the loop, such
// as a title or a judgement. What they use is counted as the conversation's
// once done is called, but not as what fills the context of the agent's model.
func (c *Controller) Service(usage string) (m llm.Model, done func(context.Context) error) {
	t := &meter{cfg: &c.cfg, aside: true}
	return t.model(usage), func(ctx context.Context) error { return c.appendWith(ctx, t.record) }
}
