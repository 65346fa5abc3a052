// Package wirellm is the LLM of the wire: the JSON object by which clients of
// the agent server say which model to call and how (sdk-wire.md section 5.4,
// sdk-wire-1.58.md section B.7), and what our own llm packages need of it.
//
// # Usage
//
//	l, err := wirellm.Decode(raw, shape.Reading{Keys: ring}, "body", "llm")
//	err = l.Resolve(connections)                // a shared provider connection
//	m, err := route.New(l.Config(nil))          // the adapter
//	m = broker.New(m, l.Broker(broker.Options{Budget: b}))
//	m.Generate(ctx, l.Request(request), onDelta)
//
//	out, err := l.JSON(shape.Writing{Mode: shape.Masked})
//
// Fields that this version does not know are kept in Unknown and written again.
//
// # Concurrency
//
// An LLM is a value of its owner. Its methods but Resolve change nothing.
//
// # Failure
//
// Decode returns rest.Violations in the reference's words, or shape.ErrSealed.
// Settings that our adapters have no counterpart for are listed by Unused.
package wirellm
