package protocol

import "github.com/deft-dev/deft/fault"

// ViewUpgrade is the protocol of a connection to a live view: lines of JSON in both directions.
const ViewUpgrade = "deft-view"

// NoView is the error of a server without a tool that shows anything.
func NoView() error {
	return fault.New(fault.Unsupported, "the tools of this action server show nothing live")
}
