package gitview

import (
	"cmp"
	"context"
	"strings"
)

// resolve returns the commits that revisions name, "" for each that names none, with
// one git process.
func (v *View) resolve(ctx context.Context, revisions ...string) ([]string, error) {
	for _, r := range revisions {
		if strings.ContainsAny(r, "\n\x00") {
			return nil, unresolved(r)
		}
	}
	out, err := v.git(ctx, call{in: strings.Join(revisions, "\n") + "\n"}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(revisions))
	i := 0
	for line := range strings.Lines(out) {
		name, typ, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if i < len(names) && isName(name) && typ == "commit" {
			names[i] = name
		}
		i++
	}
	return names, nil
}

// isName reports whether s is the full name of an object.
func isName(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func unresolved(revision string) error {
	return &CommandError{Command: quote([]string{"git", "--no-pager", "rev-parse", "--verify", revision}), Unresolved: true}
}

// commit resolves a revision that a client named.
func (v *View) commit(ctx context.Context, revision string) (string, error) {
	names, err := v.resolve(ctx, revision+"^{commit}")
	if err != nil {
		return "", err
	}
	if names[0] == "" {
		return "", unresolved(revision + "^{commit}")
	}
	return names[0], nil
}

// heads are the candidates for a base.
type heads struct {
	head     string
	upstream string // origin's branch of the same name
	origin   string // origin's default branch
	local    string // main or master
	isLocal  bool   // that is the present branch
}

func (v *View) heads(ctx context.Context) (heads, error) {
	names, err := v.resolve(ctx, "HEAD^{commit}", "refs/remotes/origin/"+v.branch+"^{commit}", "refs/remotes/origin/HEAD^{commit}",
		"refs/remotes/origin/main^{commit}", "refs/remotes/origin/master^{commit}", "refs/heads/main^{commit}", "refs/heads/master^{commit}")
	if err != nil {
		return heads{}, err
	}
	h := heads{head: names[0], upstream: names[1]}
	if h.head == "" || v.branch == "" {
		h.upstream = ""
	}
	// Where HEAD of origin is not recorded, the reference asks the remote for its
	// default branch; we do not use the network.
	for _, name := range names[2:5] {
		h.origin = cmp.Or(h.origin, name)
	}
	switch {
	case names[5] != "":
		h.local, h.isLocal = names[5], v.branch == "main"
	case names[6] != "":
		h.local, h.isLocal = names[6], v.branch == "master"
	}
	return h, nil
}

// base chooses the commit that a working tree is compared with, so that the work
// of a conversation shows, committed and pushed or not (docs/openhands/sdk-wire.md
// section 10).
func (v *View) base(ctx context.Context, ref string) (string, error) {
	if ref != "" {
		name, err := v.commit(ctx, ref)
		if err != nil && ref == "HEAD" {
			return v.emptyTree(), nil
		}
		return name, err
	}
	h, err := v.heads(ctx)
	if err != nil {
		return "", err
	}
	if h.upstream != "" && (h.upstream != h.head || v.dirty(ctx)) {
		return h.upstream, nil
	}
	if h.origin != "" {
		if fork := v.mergeBase(ctx, h.head, h.origin); fork != "" {
			return fork, nil
		}
		return h.origin, nil
	}
	if h.local != "" && !h.isLocal && v.mergeBase(ctx, h.head, h.local) == h.local {
		return h.local, nil
	}
	if h.head != "" {
		return h.head, nil
	}
	return v.emptyTree(), nil
}

// exportBase chooses a base that a fresh clone has too, because the patch is
// applied there.
func (v *View) exportBase(ctx context.Context, ref string) (string, error) {
	if ref == "" && v.branch == "" {
		ref = "HEAD"
	}
	if ref != "" {
		return v.base(ctx, ref)
	}
	h, err := v.heads(ctx)
	switch {
	case err != nil:
		return "", err
	case h.upstream != "":
		return h.upstream, nil
	case h.origin != "":
		return h.origin, nil
	}
	return v.emptyTree(), nil
}

// mergeBase returns the merge base of two commits, or "" if it is unknown.
func (v *View) mergeBase(ctx context.Context, a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	out, err := v.git(ctx, call{}, "merge-base", a, b)
	if err != nil { // unrelated, or a shallow clone
		return ""
	}
	return strings.TrimSpace(out)
}

// dirty reports whether a tracked file differs from HEAD.
func (v *View) dirty(ctx context.Context) bool {
	_, err := v.git(ctx, call{}, diffArgs("--quiet", "HEAD")...)
	return err != nil
}

// diffArgs are the arguments of a diff that runs nothing of the repository's.
func diffArgs(more ...string) []string {
	return append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty"}, more...)
}
