// Package formerevent translates the events of an agent server for pages that ask for them as
// OpenHands' web UI 0.62 does, in the form of openhands-sdk 1.0.0a6: other names of the
// terminal's actions and observations, and results as fields of their own beside the content
// blocks (docs/openhands/web-ui.md section 4). What an event has today stays in it, for the
// web UIs after 0.62 ask in the same way and read that: they know both names of the terminal.
//
// # Usage
//
//	w := formerevent.Workspace{Directory: "/var/lib/deft/w/1", Client: "/workspace"}
//	frame := w.Event(rec.JSON)                          // nil: nothing to send
//	message = w.Message(message, w.Directory+"/project") // what such a client sends, in today's form
//
// What changed is a table of kinds (see table.go). Kinds that are not in it go through as they
// are: the pages count events, and wait for as many as there are.
//
// # Concurrency and failure
//
// The methods are safe for concurrent use and keep nothing. What is not an event, or has
// a field of an unexpected type, is returned unchanged.
package formerevent
