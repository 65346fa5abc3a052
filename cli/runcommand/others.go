package runcommand

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// warnOfOthers tells the user which other conversations work in the directory now, and
// how to keep out of their way. They may change the same files.
func (r *runner) warnOfOthers(ctx context.Context) error {
	dir := r.c.Workspace()
	others, err := r.Sessions.WorkingIn(ctx, dir)
	if err != nil {
		return err
	}
	told := false
	for _, o := range others {
		if o.ID == r.ID {
			continue
		}
		told = true
		title := ""
		if o.Meta.Title != "" {
			title = fmt.Sprintf(" (%q)", o.Meta.Title)
		}
		r.view.Warn(fmt.Sprintf("conversation %s%s works in %s too, and may change the same files", o.ID, safeText(title), safeText(o.Meta.WorkingDir)))
		r.view.Warn("  to watch it: " + r.view.command + " conversations show --follow " + string(o.ID) + "; to stop it: Ctrl-C where it runs")
	}
	if !told {
		return nil
	}
	if v, err := gitview.Open(dir); err == nil {
		v.Close()
		beside := free(v.Top)
		work := filepath.Join(beside, strings.TrimPrefix(v.Dir, v.Top))
		r.view.Warn("  to keep apart: git -C " + shellWord(v.Top) + " worktree add " + shellWord(beside) + " && " + r.view.command + " run --workspace " + shellWord(work))
	}
	return nil
}

// free returns the first of top-2, top-3 … that does not exist.
func free(top string) string {
	for n := 2; ; n++ {
		path := fmt.Sprintf("%s-%d", top, n)
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

var plainWord = lazyregexp.New(`^[\w./+@%=:-]+$`)

// shellWord is a text as one word of a shell's command.
func shellWord(s string) string {
	if s = safeText(s); plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
