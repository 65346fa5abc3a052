package confirmation

import (
	"fmt"
	"slices"

	"github.com/deft-dev/deft/fault"
)

// Answer is the user's answer to one question.
type Answer struct {
	Choice Choice `json:"choice"`
	// Reason is for the agent, of a rejection; empty for none.
	Reason string `json:"reason,omitempty"`
}

// Choice is the decision of an Answer.
type Choice string

// The choices.
const (
	Once   Choice = "once"   // take this action
	Always Choice = "always" // take it, and later ones of its kind
	Reject Choice = "reject"
)

// Check returns an error of kind fault.Invalid if a question has no such answer.
func (a Answer) Check(q Question) error {
	switch {
	case a.Choice == Once, a.Choice == Reject, a.Choice == Always && q.Kind != "":
		return nil
	case a.Choice == Always:
		return fault.New(fault.Invalid, "this action can be allowed once only")
	}
	return fault.New(fault.Invalid, fmt.Sprintf("no choice %q: use once, always or reject", a.Choice))
}

// Grant is a yes to further actions of a kind.
type Grant struct {
	Kind string `json:"kind"` // as in Question
	// Title and Text are of the one action of the kind; empty for a kind with more actions.
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
}

// String returns the kind, in words that follow "always for".
func (g Grant) String() string {
	if g.Text == "" {
		return g.Kind
	}
	return g.Kind + ": " + g.Text
}

// Grant is the yes to q and further actions of its kind, which q must have.
func (q Question) Grant() Grant {
	if q.Exactly {
		return Grant{q.Kind, q.Title, q.Text}
	}
	return Grant{Kind: q.Kind}
}

// Grants are the kinds of actions that wait no more.
type Grants []Grant

// Cover reports whether the action of q is of one of the kinds.
func (g Grants) Cover(q Question) bool { return q.Kind != "" && slices.Contains(g, q.Grant()) }

// With returns the grants with another one.
func (g Grants) With(more Grant) Grants {
	if slices.Contains(g, more) {
		return g
	}
	return append(slices.Clone(g), more)
}
