package tool

import (
	"context"
	"io"
)

// Viewer is an [Executor], or a runtime with one, that shows people live what it works with, such
// as the page of a browser, and lets them use it.
type Viewer interface {
	// View connects a person until the person disconnects with Close, or the view ends with
	// io.EOF. Read and Write carry JSON documents, one a line; the executor says which. Nothing
	// is shown before somebody is connected. Errors: fault.NotFound if nothing is open yet,
	// fault.Unsupported if there is nothing to look at, fault.RateLimit for too many people.
	View(ctx context.Context) (io.ReadWriteCloser, error)
}

// MaxViewLine bounds a line of a [Viewer] in bytes.
const MaxViewLine = 8 << 20

// ViewerOf returns the executor that is a [Viewer]; nil if there is none. An executor that wraps
// another one has a method Unwrap() Executor.
func ViewerOf(all map[string]Executor) Viewer {
	for _, x := range all {
		for x != nil {
			if v, ok := x.(Viewer); ok {
				return v
			}
			w, ok := x.(interface{ Unwrap() Executor })
			if !ok {
				break
			}
			x = w.Unwrap()
		}
	}
	return nil
}
