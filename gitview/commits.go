package gitview

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Commit is one commit of the history.
type Commit struct {
	SHA       string `json:"sha"`
	ShortSHA  string `json:"short_sha"`
	Subject   string `json:"subject"`
	Author    string `json:"author"`
	Timestamp string `json:"timestamp"` // ISO 8601, of the author
}

// Commits is the newest part of a history.
type Commits struct {
	Commits []Commit `json:"commits"`
	HasMore bool     `json:"has_more"`
}

const logFormat = "--format=%H%x1f%h%x1f%aI%x1f%an%x1f%s"

// Commits lists the newest commits of HEAD; none if there is no commit yet.
func (v *View) Commits(ctx context.Context, limit int) (Commits, error) {
	page := Commits{Commits: []Commit{}}
	out, err := v.git(ctx, call{}, "log", "-z", "--no-show-signature", "--no-color", logFormat, "-n", strconv.Itoa(limit+1), "HEAD", "--")
	if err != nil {
		if _, refused := errors.AsType[*CommandError](err); !refused {
			return page, err
		}
		if head, headErr := v.resolve(ctx, "HEAD^{commit}"); headErr != nil || head[0] != "" {
			return page, err
		}
		return page, nil
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		f := strings.SplitN(strings.ToValidUTF8(record, "\uFFFD"), "\x1f", 5)
		if len(f) == 5 {
			page.Commits = append(page.Commits, Commit{SHA: f[0], ShortSHA: f[1], Timestamp: f[2], Author: f[3], Subject: f[4]})
		}
	}
	if len(page.Commits) > limit {
		page.Commits, page.HasMore = page.Commits[:limit], true
	}
	return page, nil
}

// CommitChanges lists the changes of one commit against its first parent, with
// paths relative to the top of the repository.
func (v *View) CommitChanges(ctx context.Context, sha string) ([]Change, error) {
	out, err := v.git(ctx, call{}, "diff-tree", "-r", "--root", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--diff-merges=first-parent", "--name-status", "-z", sha+"^{commit}", "--")
	var refused *CommandError
	if errors.As(err, &refused) && !refused.TimedOut {
		return nil, unresolved(sha + "^{commit}")
	}
	if err != nil {
		return nil, err
	}
	return parseStatus(out)
}

// Head returns the commit of HEAD, or "" before the first one.
func (v *View) Head(ctx context.Context) (string, error) {
	names, err := v.resolve(ctx, "HEAD^{commit}")
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// Branch returns the branch that is checked out, without "refs/heads/"; "" when HEAD is
// detached.
func (v *View) Branch() string { return v.branch }

// Metadata describes a repository; unknown fields are empty.
type Metadata struct {
	Remote string // the address of origin, without credentials
	Branch string // "DETACHED" if there is none
	Head   string
}

// Metadata describes the repository. Fields that git cannot tell, because the
// repository is damaged, for example, stay empty; the error comes from running git.
func (v *View) Metadata(ctx context.Context) (Metadata, error) {
	var m Metadata
	var err error
	if m.Head, err = v.Head(ctx); err != nil && !gitRefuses(err) {
		return m, err
	}
	if m.Head != "" {
		if m.Branch = v.branch; m.Branch == "" {
			m.Branch = "DETACHED"
		}
	}
	// Only this file, and nothing that it includes.
	out, err := v.git(ctx, call{in: v.scope.readSmall(v.common + "/config")}, "config", "-f", "-", "--get", "remote.origin.url")
	if err != nil && !gitRefuses(err) {
		return m, err
	}
	m.Remote = redact(strings.TrimSpace(out))
	return m, nil
}

// gitRefuses reports whether git ran and refused.
func gitRefuses(err error) bool {
	_, refused := errors.AsType[*CommandError](err)
	return refused || errors.Is(err, ErrMemory) || errors.Is(err, ErrOutput)
}
