package runcommand

import (
	"fmt"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// Exit is an exit code that has been explained to the user already.
type Exit int

// Error implements error.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitOf returns the Exit of a run that ended with a status and with the code of
// the last error event; nil for success.
func exitOf(status state.Status, code string) error {
	switch status {
	case state.Finished, state.Idle:
		return nil
	case state.Stuck:
		return Exit(fault.ExitStuck)
	case state.Paused, state.Confirming:
		return Exit(fault.ExitInterrupted)
	}
	switch code {
	case "MaxIterationsReached", "MaxBudgetReached":
		return Exit(fault.ExitLimit)
	case "LLMAuthenticationError", "LLMQuotaError", "LLMContentPolicyViolationError":
		return Exit(fault.ExitRefused)
	case "LLMServiceUnavailableError", "LLMTimeoutError", "LLMRateLimitError":
		return Exit(fault.ExitUnavailable)
	case "StorageFull", "StorageCorrupt":
		return Exit(fault.ExitStorage)
	}
	return Exit(fault.ExitError)
}
