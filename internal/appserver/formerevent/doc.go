// Package formerevent translates the events of an agent server to the form that they had
// when OpenHands' web UI 0.62 was made, in openhands-sdk 1.0.0a6: other names of the
// terminal's actions and observations, and results as fields of their own instead of
// content blocks (docs/openhands/web-ui.md section 4).
//
// # Usage
//
//	frame := formerevent.Event(rec.JSON)   // nil: nothing to send
//	message = formerevent.Message(message) // what such a client sends, in today's form
//
// What changed is a table of kinds (see table.go). Fields that a kind did not have are left
// out, since that version's models refuse them. Kinds that it did not know go through as
// they are: its page counts events, and waits for as many as there are.
//
// # Concurrency and failure
//
// The functions are safe for concurrent use and keep nothing. What is not an event, or has
// a field of an unexpected type, is returned unchanged.
package formerevent
