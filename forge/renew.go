package forge

import (
	"context"
	"time"

	"github.com/deft-dev/deft/llm"
)

// Renewed takes the place of an OAuth token. The refresh token that was used may no longer
// be valid.
type Renewed struct {
	Token, RefreshToken llm.Secret
	Expires             time.Time // zero for never
}

// Renewer renews OAuth tokens before they expire.
type Renewer interface {
	// CanRenew returns why the tokens of an account cannot be renewed (Unsupported), or nil.
	// It sends nothing.
	CanRenew(a Account) error
	// Renew renews a token. The error is of kind Auth if the host refuses the refresh token:
	// its user has to sign in again.
	Renew(ctx context.Context, a Account, refresh llm.Secret) (Renewed, error)
}
