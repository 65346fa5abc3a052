// Package openhands exchanges conversations with OpenHands: its directories
// on disk, one for each conversation, and trajectories, one JSON file for
// each conversation.
//
// # Usage
//
//	rep, err := openhands.Import(ctx, dir, stream)
//	path, err := openhands.Export(ctx, stream, id, parent)
//	rep, err := openhands.ImportTrajectory(ctx, stream, "", eventstream.Meta{}, r)
//	err := openhands.ExportTrajectory(ctx, stream, id, w)
//
// Events keep their bytes both ways. Directories have the layout of
// docs/openhands/sdk-wire.md section 12. A trajectory is a JSON array of events in
// the order of the log; an object with the array under "events" is read too.
//
// # Concurrency
//
// The functions keep no state. Readers see the events of an import as they are
// appended; an import that fails deletes its conversation.
//
// # Failure
//
// Input is treated as hostile: names, sizes, ids and parents are checked, links
// that lead out of the directory are not followed, and ids that are unsafe in file
// names are refused. Errors are of kind Invalid for such input and Conflict for a
// conversation that exists already. A file of a directory that cannot be read does
// not stop the import; it is reported.
package openhands

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

const (
	baseStateFile = "base_state.json"
	metaFile      = "meta.json"
	eventsDir     = "events"

	// maxFile bounds one event and one state file, in bytes.
	maxFile = 64 << 20

	leafKey   = "leaf_event_id"
	statusKey = "execution_status"
)

// eventName is the pattern of the reference (persistence_const.py).
var eventName = lazyregexp.New(`^event-(\d{5,12})-([0-9a-fA-F-]{8,128})\.json$`)

// Report is the result of an import.
type Report struct {
	ID     event.ConversationID
	Events int // stored, without the events that the import added
	// Problems lists omissions and changes, one for each file.
	Problems []Problem
}

// Problem is a file that an import left out or changed.
type Problem struct {
	File string // base name
	Why  string
}

// origin has the files beside the events that an import keeps, under the key
// "openhands" of eventstream.Meta.Extra, for a later export.
type origin struct {
	BaseState json.RawMessage `json:"base_state,omitempty"`
	Meta      json.RawMessage `json:"meta,omitempty"`
}

type extra struct {
	OpenHands *origin `json:"openhands,omitempty"`
}
