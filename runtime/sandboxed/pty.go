package sandboxed

import (
	"context"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/tool"
)

// terminals calls ask with the terminals of the sandbox that runs now. The
// terminals of one that has ended are gone; only with start is a new one started.
func (r *Runtime) terminals(ctx context.Context, start bool, ask func(tool.PTYs) error) error {
	do := func(rt runtime.Runtime) error {
		p, ok := rt.(tool.PTYs)
		if !ok {
			return fault.New(fault.Unsupported, "this runtime opens no terminals")
		}
		return ask(p)
	}
	if start {
		return r.try(ctx, do)
	}
	a, err := r.running(ctx)
	if err != nil {
		return unavailable(ctx, err)
	}
	return do(a.rt)
}

// OpenPTY implements [tool.PTYs].
func (r *Runtime) OpenPTY(ctx context.Context, s tool.PTYSpec) (opened tool.PTY, err error) {
	err = r.terminals(ctx, true, func(p tool.PTYs) (err error) {
		opened, err = p.OpenPTY(ctx, s)
		return err
	})
	return opened, err
}

// AttachPTY implements [tool.PTYs].
func (r *Runtime) AttachPTY(ctx context.Context, id string, offset int64) (conn tool.PTYConn, err error) {
	err = r.terminals(ctx, false, func(p tool.PTYs) (err error) {
		conn, err = p.AttachPTY(ctx, id, offset)
		return err
	})
	return conn, err
}

// ResizePTY implements [tool.PTYs].
func (r *Runtime) ResizePTY(ctx context.Context, id string, rows, cols int) error {
	return r.terminals(ctx, false, func(p tool.PTYs) error { return p.ResizePTY(ctx, id, rows, cols) })
}

// ClosePTY implements [tool.PTYs].
func (r *Runtime) ClosePTY(ctx context.Context, id string) error {
	return r.terminals(ctx, false, func(p tool.PTYs) error { return p.ClosePTY(ctx, id) })
}

// ListPTYs implements [tool.PTYs].
func (r *Runtime) ListPTYs(ctx context.Context) (list []tool.PTY, err error) {
	err = r.terminals(ctx, false, func(p tool.PTYs) (err error) {
		list, err = p.ListPTYs(ctx)
		return err
	})
	return list, err
}
