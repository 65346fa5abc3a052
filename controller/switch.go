package controller

import (
	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
)

// SetAgent lets another agent go on with the conversation, for example when a
// replay has ended. Conflict while it runs.
func (c *Controller) SetAgent(a agent.Agent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Busy() {
		return fault.New(fault.Conflict, "the conversation is running")
	}
	c.cfg.Agent = a
	return nil
}
