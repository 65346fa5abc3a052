package session

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

// Keys seal the secrets that are stored. Package internal/keyring has the ones
// that ship.
type Keys interface {
	schema.Keys
	secret.Sealer
}

// Settings are the saved settings of users.
type Settings interface {
	// LLM returns the LLM saved under a profile's name. NotFound if there is
	// none.
	LLM(ctx context.Context, owner identity.Tenant, profile string) (*spec.LLM, error)
	// DefaultLLM returns the LLM that the agents of new conversations get. NotFound if
	// there is none.
	DefaultLLM(ctx context.Context, owner identity.Tenant) (*spec.LLM, error)
	// LLMs returns the names of the saved LLM profiles.
	LLMs(ctx context.Context, owner identity.Tenant) ([]string, error)
	// MetaProfile returns a saved meta-profile, the first one for "". NotFound if there is none.
	MetaProfile(ctx context.Context, owner identity.Tenant, name string) (json.RawMessage, error)
	// Assigned returns the LLM profile that a service uses, "" for none of its
	// own.
	Assigned(ctx context.Context, owner identity.Tenant, service string) (profile string, err error)
	// Secret returns the value of a secret that a source looks up at a URL of
	// this program's own; ok is false for the URLs of others.
	Secret(ctx context.Context, owner identity.Tenant, url string) (value string, ok bool)
}

// Models opens models.
type Models interface {
	// Open returns the model of an LLM.
	Open(l *spec.LLM, o ModelOptions) (llm.Model, error)
}

// ModelOptions say how a conversation's model behaves.
type ModelOptions struct {
	// Retried is called before a call is made again; nil for not.
	Retried func(controller.Retry, error)
	// Budget bounds the cost of all models of the conversation; nil for no limit.
	Budget *broker.Budget
	// NoImages reports whether a model was found to take no images, and OnNoImages is called
	// when one is; nil for not.
	NoImages   func(model string) bool
	OnNoImages func(model string)
}

// WorkspaceFiles are the directories in which conversations work.
type WorkspaceFiles interface {
	// Prepare makes a directory for a conversation if it does not exist. With
	// repository it is made a Git repository, if it is in none and that is
	// possible, so that changes can be shown. The path has no links. A directory
	// in which conversations may not work is an error of kind Invalid; nothing is
	// made then.
	Prepare(ctx context.Context, dir string, repository bool) error
	// AddWorktree makes a Git worktree of dir's repository for a conversation
	// and returns its root, and the directory in it that corresponds to dir.
	// root is empty where there is no repository; the directory is dir then.
	AddWorktree(ctx context.Context, dir string, id event.ConversationID, o *WorktreeOptions) (root, work string, err error)
	// RemoveWorktree removes a worktree that AddWorktree made.
	RemoveWorktree(ctx context.Context, root string) error
	// ProjectSkills, UserSkills and PublicSkills load the skills of a directory's
	// project, of the user, and of a marketplace of the public repository, "" for
	// all of the latter.
	ProjectSkills(dir string) ([]skill.Skill, []skill.Warning)
	UserSkills() ([]skill.Skill, []skill.Warning)
	PublicSkills(marketplace string) ([]skill.Skill, []skill.Warning)
}

// Observer is notified of changes that are not events. Its methods are called
// in the goroutine of the change and must not block for long.
type Observer interface {
	// Changed is called with the description of a conversation that was made,
	// paused or interrupted, got another title or other tags, or is deleted.
	Changed(id event.ConversationID, description json.RawMessage)
	// Published is called with a full state whenever watchers get one.
	Published(id event.ConversationID, state json.RawMessage)
	// Flush is called before a conversation is deleted; it returns when all of
	// its events have been passed on.
	Flush(ctx context.Context, id event.ConversationID) error
}

// noSettings has nothing saved.
type noSettings struct{}

func (noSettings) LLM(_ context.Context, _ identity.Tenant, profile string) (*spec.LLM, error) {
	return nil, fault.New(fault.NotFound, "Profile '"+profile+"' not found")
}

func (noSettings) DefaultLLM(context.Context, identity.Tenant) (*spec.LLM, error) {
	return nil, fault.New(fault.NotFound, "no settings")
}

func (noSettings) LLMs(context.Context, identity.Tenant) ([]string, error) { return nil, nil }

func (noSettings) MetaProfile(context.Context, identity.Tenant, string) (json.RawMessage, error) {
	return nil, fault.New(fault.NotFound, "no settings")
}

func (noSettings) Assigned(context.Context, identity.Tenant, string) (string, error) { return "", nil }

func (noSettings) Secret(context.Context, identity.Tenant, string) (string, bool) { return "", false }
