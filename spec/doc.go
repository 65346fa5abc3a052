// Package spec describes the origin of a conversation, in OpenHands' own JSON: the
// LLM object, and the agent object with its tools, MCP servers, context and
// condenser (docs/openhands/sdk-wire.md section 5.4,
// docs/openhands/sdk-wire-1.58.md section B.7). There is no second form: settings,
// saved profiles, stored conversations and the REST API share it.
//
// # Usage
//
//	a, err := spec.DecodeAgent(raw, schema.Reading{Keys: ring}, "body", "agent")
//	out, err := a.JSON(schema.Writing{Mode: schema.Masked})
//	out, err = a.JSON(schema.Writing{Mode: schema.Sealed, Keys: ring})
//
//	err = a.LLM.Resolve(connections, "")           // a shared provider connection
//	m, err := route.New(a.LLM.Config(nil))         // the adapter
//	m = broker.New(m, a.LLM.Broker(broker.Options{Budget: b}))
//	m.Generate(ctx, a.LLM.Request(request), onDelta)
//
// Fields that this version does not know are kept and written again.
//
// # Concurrency
//
// Agents and LLMs are values of their owner. Their methods, except
// [LLM.Resolve], change nothing.
//
// # Failure
//
// Decoding returns schema.Violations in the reference's words, or
// schema.ErrSealed for a secret that no key opens. LLM settings without effect
// here are listed by [LLM.Unused].
package spec
