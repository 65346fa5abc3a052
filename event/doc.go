// Package event defines every event, content block, Action and Observation,
// with exactly the JSON of the wire contract of OpenHands' agent server
// (docs/openhands/sdk-wire.md, docs/openhands/sdk-wire-1.58.md). There is no
// second, internal model: the bytes that [Marshal] returns are stored, streamed,
// exported and sent to webhooks.
//
// # Usage
//
//	msg := event.NewUserMessage("fix the failing test")
//	raw, err := event.Marshal(msg)      // nulls left out, "kind" last
//	ev, err := event.Unmarshal(raw)     // *event.MessageEvent
//
// Events are pointers to structs that embed [Base]. Other modules register their
// own Actions and Observations with [RegisterAction] and [RegisterObservation];
// see the package example. Unregistered kinds (of a newer peer, or a client tool's
// ClientAction_<name>) decode to [Unknown], [UnknownAction] and
// [UnknownObservation], which keep their JSON and write it back unchanged.
//
// A field is a pointer where the wire tells "absent" from zero and the
// difference matters. Other optional strings are plain: "" means absent and
// is left out. A field that is absent in the input gets the default of the
// contract, which may not be zero; [Defaulter] does that.
//
// Encode with [Marshal], [MarshalAction] and [MarshalObservation], not with
// json.Marshal, which does not write kinds.
//
// # Concurrency
//
// Register kinds in init functions or before the first Unmarshal. An event is
// immutable once it has been appended to a stream and may then be shared between
// goroutines.
//
// # Failure
//
// Input that is not an event gives an error of kind fault.Invalid; nothing
// here panics on bad input. Unknown fields of known kinds are ignored by the
// decoder (the stored bytes still hold them). Input must be valid UTF-8;
// strings to encode that are not get U+FFFD for each wrong byte.
package event
