// Package remote has sandboxes elsewhere: it is a client of a Runtime API
// (docs/runtime-api.md, which `deft runtime-api` serves).
//
// # Usage
//
//	p, err := remote.New(remote.Options{Dir: dir, URL: "https://runtimes.example.org", Key: key})
//	s, err := p.Start(ctx, sandbox.Spec{…})
//	defer p.Close()
//
// The session of a sandbox is its ID, with the client's name before it, so that
// several clients can share a key. The runtime runs Deft's own action server; connections
// to it go through HTTP at the runtime's URL (sandbox/tunnel). The workspace is inside.
//
// A Provider builds images as well, by the API's /build ([Provider.BuildImage]).
//
// # Concurrency and failure
//
// Safe for concurrent use. Requests are repeated, for a bounded time, while the API or a
// runtime does not answer yet: 502, 503, 504, 429 and lost connections. A wrong key is
// fault.Denied at once; requests that the API cannot fulfil, and fields of a Spec that
// its contract does not have, are fault.Unsupported by name. A runtime that the API has
// paused because it was idle is resumed when it is needed.
package remote
