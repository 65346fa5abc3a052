package planeditor_test

import (
	"os"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
	"github.com/deft-dev/deft/tool/planeditor"
)

func view(path string) event.Action {
	return &event.PlanningFileEditorAction{Command: "view", Path: path}
}

func create(path, text string) event.Action {
	return &event.PlanningFileEditorAction{Command: "create", Path: path, FileText: &text}
}

func replace(path, old, text string) event.Action {
	return &event.PlanningFileEditorAction{Command: "str_replace", Path: path, OldStr: &old, NewStr: &text}
}

func insert(path string) event.Action {
	return &event.PlanningFileEditorAction{Command: "insert", Path: path, InsertLine: new(0), NewStr: new("x\n")}
}

func undo(path string) event.Action {
	return &event.PlanningFileEditorAction{Command: "undo_edit", Path: path}
}

func TestReading(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, planeditor.New)
	b.Write("f", "old\n")
	b.Write("../outside", "old\n")
	for _, path := range []string{"f", b.Path("f"), b.Path("../outside"), b.Dir} {
		b.OK(view(path))
	}
	b.Fails(view("/proc/self/environ"), "not shown")
}

func TestOnlyThePlanIsChanged(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, planeditor.New)
	b.OK(create(tool.PlanFile, "one\n"))
	obs := b.Run(create(b.Path(tool.PlanFile), "two\nthree\n")).(*event.PlanningFileEditorObservation)
	if obs.IsError || *obs.OldContent != "one\n" || *obs.NewContent != "two\nthree\n" || obs.Command != "create" {
		t.Errorf("%+v", obs)
	}
	b.OK(replace(tool.PlanFile, "three", "3"))
	b.OK(undo(tool.PlanFile))
	b.OK(undo(tool.PlanFile))
	if got := b.Content(tool.PlanFile); got != "one\n" {
		t.Errorf("undone: %q", got)
	}
	b.Write("f", "old\n")
	b.Write("../outside", "old\n")
	b.Write("sub/"+tool.PlanFile, "old\n")
	for _, path := range []string{"f", "PLAN.md", "../outside", "sub/" + tool.PlanFile, ".agents_tmp/other.md", ".agents_tmp/../f"} {
		for _, a := range []event.Action{create(path+".new", "x"), replace(path, "old", "new"), insert(path), undo(path)} {
			b.Fails(a)
		}
	}
	for _, name := range []string{"f", "../outside", "sub/" + tool.PlanFile} {
		if got := b.Content(name); got != "old\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	b.Fails(create("new.go", "x"), "you plan")
	b.Fails(create("deep/new.go", "x"), "you plan")
	if _, err := os.Stat(b.Path("deep")); err == nil {
		t.Error("a directory was made")
	}
}

// TestLinks has a repository whose plan is a link, or another name of a file.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *filestest.Bench){
		"the plan is a link": func(b *filestest.Bench) {
			b.Write(".agents_tmp/x", "")
			must.Succeed(t, os.Symlink("../f", b.Path(tool.PlanFile)))
		},
		"a dangling link": func(b *filestest.Bench) {
			b.Write(".agents_tmp/x", "")
			must.Succeed(t, os.Symlink("../made", b.Path(tool.PlanFile)))
		},
		"its directory is a link": func(b *filestest.Bench) {
			b.Write("other/PLAN.md", "old\n")
			must.Succeed(t, os.Symlink("other", b.Path(".agents_tmp")))
		},
		"its directory leads out": func(b *filestest.Bench) {
			b.Write("../other/x", "")
			must.Succeed(t, os.Symlink("../other", b.Path(".agents_tmp")))
		},
		"a hard link": func(b *filestest.Bench) {
			b.Write(".agents_tmp/x", "")
			must.Succeed(t, os.Link(b.Path("f"), b.Path(tool.PlanFile)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := filestest.NewBench(t, files.Config{}, planeditor.New)
			b.Write("f", "old\n")
			prepare(b)
			for _, a := range []event.Action{create(tool.PlanFile, "x"), replace(tool.PlanFile, "old", "new"), insert(tool.PlanFile)} {
				b.Fails(a)
			}
			for name, want := range map[string]string{"f": "old\n", "made": "(none)", "../other/PLAN.md": "(none)"} {
				if got := b.Content(name); got != want {
					t.Errorf("%s: %q", name, got)
				}
			}
			if got := b.Content("other/PLAN.md"); got != "(none)" && got != "old\n" {
				t.Errorf("other: %q", got)
			}
		})
	}
}
