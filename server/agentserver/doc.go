// Package agentserver is the Agent Server: OpenHands' REST and WebSocket contract
// over the session layer (docs/openhands/sdk-wire.md,
// docs/openhands/sdk-wire-1.58.md). The packages below it serve one area each;
// this one opens their shared services and puts them behind one listener.
//
// # Usage
//
//	s, err := agentserver.New(agentserver.Options{Config: cfg, Adapters: adapters, Addr: l.Addr(), …})
//	err = s.Serve(ctx, l)
//
// # Concurrency and failure
//
// A Server serves any number of connections. Serve ends when its context does:
// it stops accepting, waits a moment for requests under way, and closes the
// rest. A client that sends its request too slowly is cut off.
package agentserver
