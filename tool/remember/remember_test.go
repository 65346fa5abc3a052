package remember_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/remember"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(remember.Definition())
	must.Succeed(t, err)
	for args, want := range map[string]string{
		`{"scope":"project","text":"run make"}`:                                     "Keep in this project's memory||run make",
		`{"scope":"user","text":"be brief","replaces":"be long"}`:                   "Keep in your memory, for all projects|be long|be brief",
		`{"scope":"user","text":"","replaces":"be long"}`:                           "Remove from your memory, for all projects|be long|",
		`{"scope":"world","text":"x"}`:                                              "scope",
		`{"scope":"user","text":" "}`:                                               "text is empty",
		`{"scope":"user","text":"` + strings.Repeat("x", remember.MaxText+1) + `"}`: "longer than 1000 characters",
		`{"scope":"user"}`:                                                          "text",
	} {
		p, err := set.Parse(remember.Name, args)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%.80s: %v, want %q", args, err, want)
			}
			continue
		}
		ask := p.Action.(tool.Asking).Asks()
		if got := ask.Title + "|" + ask.Before + "|" + ask.After; got != want {
			t.Errorf("%.80s: asks %q, want %q", args, got, want)
		}
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	x := remember.New(func(_ context.Context, a *remember.Action) error {
		if a.Scope == remember.User {
			return errors.New("no room")
		}
		return nil
	})
	for scope, want := range map[string]string{remember.Project: "Kept.", remember.User: "Nothing was kept: no room"} {
		o, err := x.Execute(t.Context(), tool.Call{Action: &remember.Action{Scope: scope, Text: "x"}})
		must.Succeed(t, err)
		if r := o.Result(); r.IsError != (scope == remember.User) || !strings.HasPrefix(event.JoinText(r.Content), want) {
			t.Errorf("%s: %+v", scope, r)
		}
	}
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("an action of another tool is run")
	}
}
