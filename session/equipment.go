package session

import (
	"context"

	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/tool"
)

// Equipment is what a conversation's agent can use.
type Equipment struct {
	// Tools are as the model gets them, those of MCP servers too.
	Tools []tool.Offer
	// Skills are those that are active or can become so, in their order.
	Skills []skill.Skill
	// Warnings name what is not available.
	Warnings []string
}

// Equipment returns what the agent can use. It gets the conversation ready to work, if it
// is not: MCP servers and the project of a sandbox say only then what they have.
func (c *Conversation) Equipment(ctx context.Context) (Equipment, error) {
	w, err := c.work(ctx)
	if err != nil {
		return Equipment{}, err
	}
	if err := w.res.Ready(ctx); err != nil {
		return Equipment{}, err
	}
	tools, err := w.agent.Tools().Offered()
	return Equipment{Tools: tools, Skills: w.skills, Warnings: w.res.Warnings()}, err
}
