// Package v0event translates between the stored events of a conversation and the
// events of OpenHands' first REST API (V0): integer ids, and one flat object for each
// action or observation
// (docs/openhands/app-server-v0.md section 5).
//
// # Usage
//
//	var t v0event.Translator
//	for rec, err := range stream.Follow(ctx, id, v0event.SeqOf(latest+1)) {
//		…
//		for _, ev := range t.Add(rec) { … }
//		if t.Holds() && rec.Seq == last { // nothing follows yet
//			for _, ev := range t.Flush() { … }
//		}
//	}
//
// [Page] reads one page of events, [Parse] reads a client's events.
//
// # Ids
//
// The id of a V0 event is derived from the Seq of the stored event that it comes from
// (see [ID]), so it is the same whenever and from wherever the stream is read, and
// rises with the Seq. Not every stored event has a V0 form: the ids have gaps.
//
// # What an action waits for
//
// In V0 an action says itself whether it awaits the user's confirmation, its cost and
// with how many others it was called. The store has that in later events of the same
// append. So a [Translator] holds the actions and messages of the agent back until an
// event follows that decides it, or until [Translator.Flush].
//
// # Concurrency and failure
//
// A Translator belongs to one reader. Everything else is safe for concurrent use.
// Events that cannot be decoded have no V0 form; wrong events of a client are
// refused with fault.Invalid, or fault.Unsupported for actions that only agents
// take.
package v0event
