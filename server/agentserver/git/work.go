package git

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// Routes for people's work on the changes of a conversation: Deft's own. Git runs
// inside the sandbox, because it runs programs that the repository's configuration
// names, hooks too.

// MaxPrinted is how much of a program's output is kept, of each stream.
const MaxPrinted = 1 << 20

// Author is the commits' author; empty for Git's configuration.
type Author struct{ Name, Email string }

// How long git may work in a sandbox, in seconds: a commit runs hooks.
const (
	gitSeconds    = 60
	commitSeconds = 600
)

// notFound is the exit code of a shell that does not find a program.
const notFound = 127

// Bounds of one request.
const (
	mostFiles   = 500
	maxPath     = 4096
	maxMessage  = 64 << 10
	maxSaid     = 4 << 10 // of git's output
	defaultName = "Deft"
	defaultMail = "deft@localhost"
)

// work returns the operations that change the repository of a conversation.
func (s *Service) work() []rest.Route {
	r := func(method, path string, h rest.Handler) rest.Route {
		return rest.Route{Method: method, Path: "/api/git/" + path, Tag: tag, Hidden: true, Scope: rest.Sandbox, Handle: h}
	}
	return []rest.Route{
		r("GET", "status", s.status),
		r("GET", "compare", s.compare),
		r("POST", "stage", s.onFiles(func(files []string) []string {
			return append([]string{"git", "--literal-pathspecs", "add", "-A", "--"}, orAll(files)...)
		})),
		r("POST", "unstage", s.onFiles(func(files []string) []string {
			return append([]string{"git", "--literal-pathspecs", "reset", "-q", "--"}, orAll(files)...)
		})),
		r("POST", "discard", s.onFiles(func(files []string) []string {
			return append([]string{"sh", "-c", discardScript, "sh"}, files...)
		})),
		r("POST", "commit", s.commit),
	}
}

// orAll stands for everything in the directory where no file is named.
func orAll(files []string) []string {
	if len(files) == 0 {
		return []string{"."}
	}
	return files
}

// discardScript gives files their content in the last commit, where they may not
// exist.
const discardScript = `[ $# -gt 0 ] || { echo 'discard needs the names of files' >&2; exit 1; }
for f do
	if git cat-file -e "HEAD:./$f" 2>/dev/null; then
		git --literal-pathspecs checkout -q HEAD -- "$f" || exit
	elif [ ! -e "$f" ] && [ ! -L "$f" ] && ! git --literal-pathspecs ls-files --error-unmatch -- "$f" >/dev/null 2>&1; then
		printf 'there is no file %s\n' "$f" >&2
		exit 1
	else
		git --literal-pathspecs rm -q -f --cached --ignore-unmatch -- "$f" && rm -f -- "$f" || exit
	fi
done`

// statusScript prints the directory's path in the repository, the number of commits that
// no remote branch has (empty where there is no remote), and the status.
const statusScript = `command -v git >/dev/null || exit 127
at=$(git rev-parse --show-prefix) || exit
ahead=
if [ -n "$(git for-each-ref --count=1 refs/remotes)" ]; then ahead=$(git rev-list --count HEAD --not --remotes 2>/dev/null); fi
printf '%s\0%s\0' "$at" "$ahead"
exec git --no-optional-locks status --porcelain=v2 --branch -z --untracked-files=all --no-renames -- .`

// Status is the state of a working tree.
type Status struct {
	Branch *string `json:"branch"` // null if HEAD names none
	Head   *string `json:"head"`   // null before the first commit
	// Unpushed is the number of commits that no remote has, null without a remote.
	Unpushed *int   `json:"unpushed"`
	Files    []File `json:"files"`
}

// File is one that differs from the last commit. A part of its changes may be staged.
type File struct {
	Path       string `json:"path"` // relative to the directory
	Staged     bool   `json:"staged"`
	Unstaged   bool   `json:"unstaged"`
	Conflicted bool   `json:"conflicted"`
	Repository bool   `json:"repository"` // it is a repository within this one
}

// run runs a program in the sandbox of a request's conversation.
func (s *Service) run(r *http.Request, dir string, seconds int, argv ...string) (session.ProgramResult, error) {
	scope, ok := workspacescope.Of(r.Context())
	if !ok || s.o.Run == nil {
		return session.ProgramResult{}, rest.Fail(http.StatusNotFound, "this is done in a conversation's workspace only")
	}
	return s.o.Run(r.Context(), scope.ID, session.Program{Argv: argv, Dir: dir, Seconds: seconds})
}

// refusal is the answer to a refusal of git, with its own words.
func refusal(p session.ProgramResult) error {
	said := strings.TrimSpace(p.Stderr + "\n" + p.Stdout)
	if len(said) > maxSaid {
		said = strings.ToValidUTF8(said[:maxSaid], "") + " …"
	}
	if said == "" {
		said = "git ended with exit code " + strconv.Itoa(p.ExitCode)
	}
	return rest.Fail(http.StatusConflict, said)
}

// status answers null where there is no repository.
func (s *Service) status(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	dir := q.Required("path")
	if err := q.Err(); err != nil {
		return err
	}
	got, err := s.run(r, dir, gitSeconds, "sh", "-c", statusScript)
	if err != nil {
		return err
	}
	switch {
	case got.ExitCode == notFound:
		return rest.Fail(http.StatusConflict, "the sandbox has no git: changes can be looked at and downloaded, but not committed here")
	case got.ExitCode != 0 && strings.Contains(got.Stderr, "not a git repository"):
		return rest.JSON(w, http.StatusOK, nil)
	case got.ExitCode != 0:
		return refusal(got)
	case len(got.Stdout) >= MaxPrinted:
		return rest.Fail(http.StatusConflict, "too many files have changed to list them: add generated files to .gitignore")
	}
	st, err := parseWork(got.Stdout)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, st)
}

// parseWork reads the output of statusScript.
func parseWork(out string) (Status, error) {
	st := Status{Files: []File{}}
	at, rest, _ := strings.Cut(out, "\x00")
	ahead, rest, _ := strings.Cut(rest, "\x00")
	if n, err := strconv.Atoi(ahead); err == nil {
		st.Unpushed = &n
	}
	for entry := range strings.SplitSeq(rest, "\x00") {
		kind, text, _ := strings.Cut(entry, " ")
		switch kind {
		case "":
		case "#":
			name, value, _ := strings.Cut(text, " ")
			switch {
			case name == "branch.head" && value != "(detached)":
				st.Branch = &value
			case name == "branch.oid" && value != "(initial)":
				st.Head = &value
			}
		case "?":
			st.Files = append(st.Files, File{Path: relative(at, text), Unstaged: true, Repository: strings.HasSuffix(text, "/")})
		case "1", "u": // git-status(1): the path is the ninth field, or the eleventh
			n := map[string]int{"1": 8, "u": 10}[kind]
			fields := strings.SplitN(text, " ", n)
			if len(fields) < n || len(fields[0]) != 2 {
				return Status{}, fmt.Errorf("read the output of git status: %q", entry)
			}
			st.Files = append(st.Files, File{
				Path: relative(at, fields[n-1]), Conflicted: kind == "u",
				Repository: strings.HasPrefix(fields[1], "S"),
				Staged:     kind == "1" && fields[0][0] != '.', Unstaged: kind == "u" || fields[0][1] != '.',
			})
		default:
			return Status{}, fmt.Errorf("read the output of git status: %q", entry)
		}
	}
	return st, nil
}

// relative is a path in the repository as seen from the directory at, in the form of
// package gitview's.
func relative(at, path string) string {
	return strings.ToValidUTF8(strings.TrimSuffix(strings.TrimPrefix(path, at), "/"), "\uFFFD")
}

var filesForm = &schema.Object{Name: "GitFilesRequest", Fields: []schema.Field{
	{Name: "files", Type: schema.List{Of: schema.String{Min: 1, Max: maxPath, Valid: inTree}}, Required: true},
}}

// inTree checks that a path names a file of the working tree.
func inTree(path string) error {
	if !filepath.IsLocal(path) || filepath.Clean(path) == "." || slices.Contains(strings.Split(path, "/"), ".git") || strings.ContainsRune(path, 0) {
		return fmt.Errorf("a path must name a file below the directory")
	}
	return nil
}

// onFiles runs a command on files that a request names. No file stands for all of the
// directory, but not where they would be lost.
func (s *Service) onFiles(command func(files []string) []string) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := rest.QueryOf(r)
		dir := q.Required("path")
		if err := q.Err(); err != nil {
			return err
		}
		var req struct {
			Files []string `json:"files"`
		}
		if err := rest.Read(r, filesForm, &req); err != nil {
			return err
		}
		if len(req.Files) > mostFiles {
			return schema.Invalid("Too many files. Maximum is "+strconv.Itoa(mostFiles), len(req.Files), "body", "files")
		}
		got, err := s.run(r, dir, gitSeconds, command(req.Files)...)
		if err != nil {
			return err
		}
		if got.ExitCode != 0 {
			return refusal(got)
		}
		return rest.OK(w)
	}
}

var commitForm = &schema.Object{Name: "GitCommitRequest", Fields: []schema.Field{
	{Name: "message", Type: schema.String{Min: 1, Max: maxMessage, Valid: notBlank}, Required: true},
	{Name: "all", Type: schema.Bool{}, Default: false},
}}

func notBlank(s string) error {
	if strings.TrimSpace(s) == "" || strings.ContainsRune(s, 0) {
		return fmt.Errorf("a commit needs a message")
	}
	return nil
}

// commit commits staged changes, or all changes of the directory, and answers with the
// commit. Hooks of the repository run, and may refuse. All changes are not committed while
// a file has conflicts: staging it says that they are resolved.
func (s *Service) commit(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	dir := q.Required("path")
	if err := q.Err(); err != nil {
		return err
	}
	var req struct {
		Message string `json:"message"`
		All     bool   `json:"all"`
	}
	if err := rest.Read(r, commitForm, &req); err != nil {
		return err
	}
	who, err := s.author(r, dir)
	if err != nil {
		return err
	}
	steps := [][]string{append(append([]string{"git"}, who...), "commit", "-q", "-m", req.Message)}
	if req.All {
		if err := s.resolved(r, dir); err != nil {
			return err
		}
		steps = append([][]string{{"git", "add", "-A", "--", "."}}, steps...)
	}
	var got session.ProgramResult
	for _, argv := range append(steps, []string{"git", "rev-parse", "HEAD"}) {
		if got, err = s.run(r, dir, commitSeconds, argv...); err != nil {
			return err
		}
		if got.ExitCode != 0 {
			return refusal(got)
		}
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"commit": strings.TrimSpace(got.Stdout)})
}

// resolved refuses a directory with files that have conflicts, and names them.
func (s *Service) resolved(r *http.Request, dir string) error {
	got, err := s.run(r, dir, gitSeconds, "git", "diff", "--name-only", "--diff-filter=U", "--relative", "-z")
	if err != nil {
		return err
	}
	if got.ExitCode != 0 {
		return refusal(got)
	}
	files := strings.FieldsFunc(strings.ToValidUTF8(got.Stdout, "\uFFFD"), func(r rune) bool { return r == 0 })
	if len(files) == 0 {
		return nil
	}
	names := strings.Join(files, ", ")
	if len(names) > maxSaid {
		names = strings.ToValidUTF8(names[:maxSaid], "") + " …"
	}
	return rest.Fail(http.StatusConflict, "conflicts are not resolved in "+names+": edit these files, stage each by its name, and commit again")
}

// author returns the options that name the author of a commit: the user's settings, or
// where Git has no name a default.
func (s *Service) author(r *http.Request, dir string) ([]string, error) {
	who := Author{}
	if s.o.Author != nil {
		var err error
		if who, err = s.o.Author(r.Context()); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, one := range []struct{ key, value, otherwise string }{{"user.name", who.Name, defaultName}, {"user.email", who.Email, defaultMail}} {
		if one.value == "" {
			got, err := s.run(r, dir, gitSeconds, "git", "config", "--get", one.key)
			if err != nil {
				return nil, err
			}
			if strings.TrimSpace(got.Stdout) != "" {
				continue
			}
			one.value = one.otherwise
		}
		out = append(out, "-c", one.key+"="+one.value)
	}
	return out, nil
}

// Runner runs a program in the sandbox of a conversation, whose id has 32 hexadecimal digits.
type Runner func(ctx context.Context, conversation string, p session.Program) (session.ProgramResult, error)
