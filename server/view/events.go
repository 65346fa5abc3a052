package view

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

// OwnKinds is the parameter of requests for events with which a client says that it reads the
// kinds of tools that only Deft has. The web app does.
const OwnKinds = "own_kinds"

// Event returns a stored event as a client reads it: with own, as it is stored, and
// otherwise in kinds that every client of OpenHands knows.
func Event(raw json.RawMessage, own bool) json.RawMessage {
	if own {
		return raw
	}
	known, err := event.WithoutOwnKinds(raw)
	if err != nil {
		return raw // nobody can read it
	}
	return known
}
