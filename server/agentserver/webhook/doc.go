// Package webhook posts conversations to configured endpoints: their events in
// batches, and their states.
//
// # Usage
//
//	cursors, err := webhook.OpenFile(filepath.Join(conversations, "webhooks.log"))
//	s, err := webhook.New(webhook.Options{Endpoints: cfg.Webhooks, Stream: store, Cursors: cursors, Key: firstKey})
//	stream := s.Stream()     // appends through it are delivered
//	s.Tell(id, info)         // on start, pause, interrupt, update and delete
//	s.Show(id, fullState)    // behind the events
//	s.Flush(ctx, id)         // before a conversation is deleted
//	s.Close(ctx)             // delivers what it can until ctx ends
//
// Requests have the form of docs/openhands/sdk-wire.md section 11. Unlike the
// reference, events are never dropped: they are read from the event stream behind
// a cursor, which is stored once an endpoint has accepted them. So each event is
// delivered at least once and in order, also after a crash; a repeated one has the
// same id. Full states are not stored: an endpoint that lags behind gets the
// newest.
//
// A new endpoint gets events from then on, not the past.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; Tell and appends do
// not wait for any endpoint. Each endpoint has one goroutine and at most
// Options.Posts more while posts to it are under way. A conversation takes memory
// only while it has undelivered events.
//
// # Failure
//
// A post that fails is repeated after retry_delay, and after num_retries attempts
// with growing pauses of up to five minutes; no other conversation and no other
// endpoint waits for it. The descriptions given to Tell are dropped after
// num_retries more attempts, as in the reference: the next one replaces them.
package webhook
