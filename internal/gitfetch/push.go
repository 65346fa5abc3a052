package gitfetch

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Push sends the HEAD of a bundle (git bundle create FILE HEAD) to a branch of a
// repository, which is made if it does not exist. The bundle may come from anybody. A
// branch that has other commits is a Conflict, a token that may not write Denied, one that
// the host does not take Auth.
func Push(ctx context.Context, bundle string, to Source) (err error) {
	switch {
	case !IsURL(to.URL):
		return fault.New(fault.Invalid, "not the URL of a repository: "+WithoutCredentials(to.URL))
	case !IsRef(to.Branch):
		return fault.New(fault.Invalid, "the branch must have a name that Git takes, such as fix/login")
	}
	ctx, cancel := context.WithTimeout(ctx, cloneTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "deft-push-")
	if err != nil {
		return fault.Wrap(err, fault.Full, "make a directory for a push")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env, err := to.environ(ctx)
	if err != nil {
		return err
	}
	const head = "refs/heads/pushed"
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--template="},
		{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", bundle, "HEAD:" + head},
	} {
		if err := Run(ctx, io.Discard, dir, nil, args...); err != nil {
			return fault.Wrap(err, fault.Invalid, "read the commits that are to be pushed")
		}
	}
	if err := Run(ctx, io.Discard, dir, env, "push", "--quiet", "--", to.URL, head+":refs/heads/"+to.Branch); err != nil {
		return explainPush(err, to)
	}
	return nil
}

// explainPush gives the errors of a push their kinds, by the messages of Git and
// hosts.
func explainPush(err error, to Source) error {
	said, shown := err.Error(), WithoutCredentials(to.URL)
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, t) })
	}
	switch {
	case has("(fetch first)", "(non-fast-forward)"):
		return fault.New(fault.Conflict, "the branch "+to.Branch+" of "+shown+" has commits that are not here").Because(err).
			Hint("push to another branch, or ask the agent to rebase onto it")
	case has("error: 403", "Permission to", "Write access", "not allowed to push"):
		return fault.New(fault.Denied, "the token may not write to "+shown).Because(err).
			Hint("store a token with write access in the settings of Git hosts")
	case has("Authentication failed", "could not read Username", "error: 401") && to.Token == "":
		return fault.New(fault.Auth, "there is no token for "+shown).Because(err).
			Hint("store one with write access in the settings of Git hosts")
	case has("[remote rejected]"):
		return fault.New(fault.Denied, "the host refuses the push: "+remoteSays(said)).Because(err).
			Hint("push to another branch")
	}
	return explain(err, to)
}

// remoteSays returns the reason in brackets that Git prints for a branch.
func remoteSays(said string) string {
	_, after, _ := strings.Cut(said, "[remote rejected]")
	line, _, _ := strings.Cut(after, "\n")
	if open := strings.LastIndexByte(line, '('); open >= 0 {
		line = strings.TrimRight(line[open+1:], ") \r")
	}
	return strings.TrimSpace(line)
}
