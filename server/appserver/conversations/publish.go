package conversations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/workspace"
)

// bundleScript packs the current commit with its history into a file named $0 of the
// repository, and prints the file and the commit.
const bundleScript = `at=$(git rev-parse --absolute-git-dir) || exit
commit=$(git rev-parse --verify HEAD 2>/dev/null) || { echo "nothing has been committed yet" >&2; exit 1; }
git bundle create -q "$at/$0" HEAD >&2 || exit
printf '%s\n%s\n' "$commit" "$at/$0"`

// Bounds of a push.
const (
	bundleSeconds = 10 * 60
	maxBundle     = 1 << 30
)

// Pushed describes a push.
type Pushed struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Push sends the current commit of a conversation's repository to a branch of the
// repository that the conversation was started with, and nowhere else. The commits are
// packed inside the sandbox and sent by this server: the token never is in the sandbox.
// Invalid for a conversation without a repository; see [gitfetch.Push].
func (s *Service) Push(ctx context.Context, owner identity.Tenant, id event.ConversationID, branch string) (done Pushed, err error) {
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return done, err
	}
	if info.Repository == "" {
		return done, errNoRepository
	}
	to, err := s.o.Settings.Repository(ctx, owner, info.Provider, info.Repository)
	if err != nil {
		return done, err
	}
	if to.Token == "" {
		return done, errNoToken
	}
	to.Branch = branch
	c, err := s.Open(ctx, owner, id)
	if err != nil {
		return done, err
	}
	dir := c.Workspace()
	got, err := c.Environment().RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", bundleScript, "deft-push-" + string(event.NewID())}, Dir: dir, Seconds: bundleSeconds})
	if err != nil {
		return done, err
	}
	if got.ExitCode != 0 {
		return done, fault.New(fault.Conflict, "the commits cannot be packed: "+strings.TrimSpace(got.Stderr))
	}
	commit, bundle, _ := strings.Cut(strings.TrimSuffix(got.Stdout, "\n"), "\n")
	defer func() {
		_, gone := c.Environment().RunProgram(context.WithoutCancel(ctx), session.Program{Argv: []string{"rm", "-f", "--", bundle}, Dir: dir})
		if gone != nil {
			s.o.Log.Warn("what was packed for a push could not be removed", "conversation", id, "err", gone)
		}
	}()
	files, err := c.Environment().Files(ctx)
	if err != nil {
		return done, err
	}
	defer files.Close()
	local, err := copyOut(ctx, files, bundle)
	if err != nil {
		return done, err
	}
	err = errors.Join(gitfetch.Push(ctx, local, to), os.Remove(local))
	if err != nil {
		return done, err
	}
	// Git in the sandbox learns the new state of the branch; the push itself was done.
	if _, err := c.Environment().RunProgram(ctx, session.Program{Argv: []string{"git", "update-ref", "refs/remotes/origin/" + branch, commit}, Dir: dir}); err != nil {
		s.o.Log.Warn("a pushed branch is not noted in its repository", "conversation", id, "err", err)
	}
	return Pushed{branch, commit}, nil
}

var errNoRepository = fault.New(fault.Invalid, "this conversation was started without a repository, so there is nowhere to push to").
	Hint("download the patch instead")

var errNoToken = fault.New(fault.Auth, "there is no token for the Git host of this repository").
	Hint("store one with write access in the settings of Git hosts")

// copyOut copies a file of a workspace to this machine, and returns its name.
func copyOut(ctx context.Context, files workspace.Files, name string) (local string, err error) {
	from, err := files.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "deft-push-*.bundle")
	if err != nil {
		return "", fault.Wrap(err, fault.Full, "store what is pushed")
	}
	n, err := io.Copy(to, io.LimitReader(from, maxBundle+1))
	if n > maxBundle {
		err = fault.New(fault.Limit, fmt.Sprintf("the repository is too large to push from here: more than %d GiB", maxBundle>>30))
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return "", errors.Join(err, os.Remove(to.Name()))
	}
	return to.Name(), nil
}

// Propose opens a pull request of a conversation, with a link to it behind the
// description, and notes its number and address. An empty Repository is the conversation's own, an
// empty Target its default branch.
func (s *Service) Propose(ctx context.Context, owner identity.Tenant, id event.ConversationID, host forge.Host, p forge.Proposal) (forge.PullRequest, error) {
	if p.Description != "" {
		p.Description += "\n\n"
	}
	p.Description += fmt.Sprintf("[Continue this work in Deft](%s)", s.o.Link(id))
	made, err := host.Propose(ctx, p)
	if err != nil {
		return made, err
	}
	if err := s.addPullRequest(context.WithoutCancel(ctx), owner, id, made); err != nil {
		s.o.Log.Error("the number of a pull request is not in its conversation", "conversation", id, "number", made.Number, "err", err)
	}
	return made, nil
}

// ProposeOwn is [Service.Propose] at the host of the conversation's own repository, from a
// branch that was pushed. An empty target is the repository's default branch.
func (s *Service) ProposeOwn(ctx context.Context, owner identity.Tenant, id event.ConversationID, p forge.Proposal) (forge.PullRequest, error) {
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return forge.PullRequest{}, err
	}
	if info.Repository == "" {
		return forge.PullRequest{}, errNoRepository
	}
	host, name, err := s.o.Settings.Host(ctx, owner, info.Provider, info.Repository)
	if err != nil {
		return forge.PullRequest{}, err
	}
	p.Repository = name
	if p.Target == "" {
		r, err := host.Repository(ctx, name)
		if err != nil {
			return forge.PullRequest{}, err
		}
		p.Target = r.MainBranch
	}
	if p.Source == p.Target {
		return forge.PullRequest{}, fault.New(fault.Invalid, "the branch "+p.Source+" cannot be proposed to itself").Hint("push to another branch")
	}
	return s.Propose(ctx, owner, id, host, p)
}

// addPullRequest notes a pull request that a conversation has opened.
func (s *Service) addPullRequest(ctx context.Context, owner identity.Tenant, id event.ConversationID, made forge.PullRequest) error {
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return err
	}
	return s.o.Store.ChangeConversation(ctx, string(owner), id, func(row *store.Conversation) {
		if row.Created.IsZero() {
			row.AgentType, row.Created = "default", info.Info.Created
		}
		if !slices.Contains(row.PRNumbers, made.Number) { // else the host has given the same one again
			row.PRNumbers = append(row.PRNumbers, made.Number)
		}
		if row.PRURLs == nil {
			row.PRURLs = map[int]string{}
		}
		row.PRURLs[made.Number] = made.URL
	})
}
