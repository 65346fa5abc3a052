// Package webhook posts conversations to the endpoints that the Agent Server's
// configuration names: their events in batches, and what becomes of them.
//
// # Usage
//
//	cursors, err := webhook.OpenFile(filepath.Join(conversations, "webhooks.log"))
//	s, err := webhook.New(webhook.Options{Specs: specs, Stream: store, Cursors: cursors, Key: firstKey})
//	stream := s.Stream()     // appends through it are delivered
//	s.Tell(id, info)         // on start, pause, interrupt, update and delete
//	s.Show(id, fullState)    // behind the events
//	s.Flush(ctx, id)         // before a conversation is deleted
//	s.Close(ctx)             // delivers what it can until ctx ends
//
// Requests are those of docs/openhands/sdk-wire.md section 11. What is better
// than there: events are not dropped. They are read from the stream behind a
// cursor that is stored when an endpoint has taken them, so that each is
// delivered at least once and in the conversation's order, also after a crash.
// An event may come twice; its id tells. Of the full states, which are not
// stored, an endpoint that is behind gets the newest.
//
// An endpoint that is new gets what happens from then on, not the past.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; Tell and appends do
// not wait for any endpoint. Each endpoint has one goroutine and at most
// Options.Posts more while it is being posted to. A conversation costs
// something only while it has events that were not delivered.
//
// # Failure
//
// A post that fails is repeated after the endpoint's retry_delay, and after
// num_retries of them with growing pauses of up to five minutes; no other
// conversation and no other endpoint waits for it. What Tell is given is tried
// num_retries times more and then dropped, as in the reference: the next one
// holds all of it again.
package webhook
