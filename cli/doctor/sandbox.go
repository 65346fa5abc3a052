package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// levelNone is the level of a sandbox that isolates nothing.
const levelNone = "none"

// trySandbox tries everything that must be forbidden.
func (r *Report) trySandbox(ctx context.Context, h Host) Check {
	if h.SandboxError != nil {
		return failed("sandbox", fault.ExitError, h.SandboxError)
	}
	began := time.Now()
	rep, attempts, err := h.Sandbox.Doctor(ctx)
	if err != nil {
		return failed("sandbox", fault.ExitError, err)
	}
	r.Isolation, r.Attempts, r.TriedMS = &rep, attempts, float64(time.Since(began).Microseconds())/1000
	c := Check{Name: "sandbox", State: OK, Text: rep.Level + ": " + strings.Join(rep.Features, ", ")}
	if rep.Level == levelNone {
		c.State, c.Text = Warning, "none: commands have all rights of the user"
		c.Next = "leave out --sandbox none"
		return c
	}
	var worked []string
	for _, a := range attempts {
		if !a.OK {
			worked = append(worked, a.Name)
		}
	}
	if len(worked) > 0 {
		c.State, c.Exit = Failed, fault.ExitError
		c.Text = fmt.Sprintf("%s: %d of %d forbidden things worked: %s", rep.Level, len(worked), len(attempts), strings.Join(worked, ", "))
		c.Next = "do not give untrusted tasks to Deft on this machine; report this as a security problem"
	}
	return c
}
