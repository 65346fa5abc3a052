package session

import (
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// cannotCondense says in the reference's words why an agent's history is not
// shortened on request; "" where it is.
func cannotCondense(a *spec.Agent) (string, error) {
	c, err := memory.New(a.Condenser)
	switch {
	case err != nil:
		return "", err
	case c == nil:
		return "Cannot condense conversation: No condenser configured", nil
	case !c.Forgets():
		return "Cannot condense conversation: Condenser " + a.Condenser.Kind + " does not handle condensation requests", nil
	}
	return "", nil
}

// setCondenser gives the agent of doc the condenser of a sub-agent's definition, which works with the
// sub-agent's own model: a file of a project must not send the conversation elsewhere.
func setCondenser(doc *schema.Map, d subagent.Definition) {
	if c := documentOf(d.Condenser); c != nil {
		doc.Set("condenser", spec.CondenserWith(c, doc.Object("llm")))
	}
}

// documentOf returns the object of a JSON text, nil for none.
func documentOf(raw []byte) *schema.Map {
	v, err := schema.Parse(raw)
	if err != nil {
		return nil
	}
	m, _ := v.(*schema.Map)
	return m
}
