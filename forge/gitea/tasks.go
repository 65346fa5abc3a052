package gitea

import (
	"context"
	"net/url"
	"strconv"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

// maxPulls bounds the pull requests that are looked at: each takes three requests.
const maxPulls = 30

type issue struct {
	Number     int    `json:"number"`
	Title      string `json:"title"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

func (i issue) task(t forge.TaskType) forge.Task {
	return forge.Task{Type: t, Repository: i.Repository.FullName, Number: i.Number, Title: i.Title}
}

// Tasks implements [forge.Host].
func (h *Host) Tasks(ctx context.Context) ([]forge.Task, error) {
	var out []forge.Task
	var pulls []issue
	if _, err := h.c.Page(ctx, "/repos/issues/search", url.Values{"type": {"pulls"}, "state": {"open"}, "created": {"true"}}, forge.Page{Size: maxPulls}, &pulls); err != nil {
		return nil, err
	}
	for _, p := range pulls {
		t, err := h.problem(ctx, p)
		if err != nil {
			return nil, err
		}
		if t != "" {
			out = append(out, p.task(t))
		}
	}
	assigned := url.Values{"type": {"issues"}, "state": {"open"}, "assigned": {"true"}}
	issues, err := exchange.All(ctx, h.c, "/repos/issues/search", assigned, func(i issue) forge.Task { return i.task(forge.OpenIssue) })
	return append(out, issues...), err
}

// problem names the problem of a pull request; "" for none.
func (h *Host) problem(ctx context.Context, i issue) (forge.TaskType, error) {
	at, err := path(i.Repository.FullName)
	if err != nil {
		return "", err
	}
	var pull struct {
		Mergeable bool `json:"mergeable"`
		Draft     bool `json:"draft"`
		Head      struct {
			SHA string `json:"sha"`
		} `json:"head"`
	}
	number := at + "/pulls/" + strconv.Itoa(i.Number)
	if _, err := h.c.Get(ctx, number, nil, &pull); err != nil {
		return "", err
	}
	if !pull.Mergeable && !pull.Draft { // drafts are never mergeable
		return forge.MergeConflicts, nil
	}
	var combined struct {
		State string `json:"state"`
	}
	if _, err := h.c.Get(ctx, at+"/commits/"+url.PathEscape(pull.Head.SHA)+"/status", nil, &combined); err != nil {
		return "", err
	}
	if combined.State == "failure" || combined.State == "error" {
		return forge.FailingChecks, nil
	}
	var reviews []struct {
		State     string `json:"state"`
		Dismissed bool   `json:"dismissed"`
		Stale     bool   `json:"stale"`
	}
	if _, err := h.c.Get(ctx, number+"/reviews", nil, &reviews); err != nil {
		return "", err
	}
	for _, r := range reviews {
		if r.State == "REQUEST_CHANGES" && !r.Dismissed && !r.Stale {
			return forge.UnresolvedComments, nil
		}
	}
	return "", nil
}
