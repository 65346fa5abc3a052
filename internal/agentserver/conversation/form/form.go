// Package form describes the bodies of requests about conversations as data, so
// that all that is wrong with one is said at once and in its place, also of
// fields that have no effect here (docs/openhands/sdk-wire.md section 5.1,
// docs/openhands/sdk-wire-1.58.md section B.2).
//
// # Usage
//
//	if err := form.Start(raw); err != nil {
//		return err // schema.Violations
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Bodies that are no JSON are left to who
// decodes them. What is said of an agent is checked where agents are made.
package form

import (
	"errors"

	s "github.com/deft-dev/deft/schema"
)

// Start says what is wrong with a request for a conversation.
func Start(raw []byte) error {
	_, err := start.Fits(raw, "body")
	return err
}

// Message says what is wrong with a message that is sent.
func Message(raw []byte) error {
	_, err := message.Fits(raw, "body")
	return err
}

var (
	text  = s.Opt(s.String{})
	names = s.List{Of: s.String{}}
	flag  = s.Bool{}
)

// blank takes null as if there were nothing, and looks at all else.
func blank(first func(v any) error, of s.Type) s.Type { return s.Opt(s.Guarded{First: first, Of: of}) }

var errNotPath = errors.New("working_dir is not a path")
