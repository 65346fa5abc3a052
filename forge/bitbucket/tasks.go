package bitbucket

import (
	"context"
	"net/url"
	"strconv"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

// maxPulls bounds the pull requests that are looked at: each takes two requests.
const maxPulls = 30

type pull struct {
	ID          int    `json:"id"`
	Title       string `json:"title"`
	Tasks       int    `json:"task_count"`
	Destination struct {
		Repository struct {
			FullName string `json:"full_name"`
		} `json:"repository"`
	} `json:"destination"`
}

// Tasks implements [forge.Host]: own pull requests of all workspaces. Issues of Bitbucket
// can be listed only for one repository.
func (h *Host) Tasks(ctx context.Context) ([]forge.Task, error) {
	u, err := h.self(ctx)
	if err != nil {
		return nil, err
	}
	accounts, err := h.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	var out []forge.Task
	seen := 0
	for _, a := range accounts {
		found, err := list[pull](ctx, h, exchange.Path("workspaces", a, "pullrequests", u.UUID), url.Values{"state": {"OPEN"}}, forge.Page{Size: maxPage})
		if err != nil {
			return nil, err
		}
		for _, p := range found.Items {
			if seen++; seen > maxPulls {
				return out, nil
			}
			t, err := h.problem(ctx, p)
			if err != nil {
				return nil, err
			}
			if t != "" {
				out = append(out, forge.Task{Type: t, Repository: p.Destination.Repository.FullName, Number: p.ID, Title: p.Title})
			}
		}
	}
	return out, nil
}

// problem names the problem of a pull request; "" for none.
func (h *Host) problem(ctx context.Context, p pull) (forge.TaskType, error) {
	type file struct {
		Status string `json:"status"`
	}
	at, err := path(p.Destination.Repository.FullName, "pullrequests", strconv.Itoa(p.ID))
	if err != nil {
		return "", err
	}
	files, err := list[file](ctx, h, at+"/diffstat", url.Values{}, forge.Page{Size: maxPage})
	if err != nil {
		return "", err
	}
	for _, f := range files.Items {
		switch f.Status {
		case "merge conflict", "rename conflict", "rename/delete conflict", "subrepo conflict", "local deleted", "remote deleted":
			return forge.MergeConflicts, nil
		}
	}
	type status struct {
		State string `json:"state"`
	}
	states, err := list[status](ctx, h, at+"/statuses", url.Values{}, forge.Page{Size: maxPage})
	if err != nil {
		return "", err
	}
	for _, s := range states.Items {
		if s.State == "FAILED" {
			return forge.FailingChecks, nil
		}
	}
	if p.Tasks > 0 {
		return forge.UnresolvedComments, nil
	}
	return "", nil
}
