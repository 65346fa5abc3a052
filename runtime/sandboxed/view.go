package sandboxed

import (
	"context"
	"io"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// View implements [tool.Viewer]. It starts no sandbox: nothing is open in a new one.
func (r *Runtime) View(ctx context.Context) (io.ReadWriteCloser, error) {
	a, err := r.running(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	v, ok := a.rt.(tool.Viewer)
	if !ok {
		return nil, fault.New(fault.Unsupported, "this runtime shows nothing live")
	}
	return v.View(ctx)
}
