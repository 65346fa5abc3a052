package v1

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// maxFile bounds a file that is answered as text.
const maxFile = 4 << 20

// files opens the workspace of the conversation that a path names.
func (s *Service) files(r *http.Request, named string) (workspace.Files, string, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, "", err
	}
	files, name, err := s.o.Conversations.Files(r.Context(), owner(r), id, named)
	return files, name, missing(err, "Conversation")
}

// file answers with the text of a file, by default the plan; "" if there is none.
func (s *Service) file(r *http.Request) (any, error) {
	files, name, err := s.files(r, rest.QueryOf(r).String("file_path", tool.PlanFile))
	if err != nil {
		return nil, err
	}
	defer files.Close()
	f, err := files.Open(r.Context(), name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, rest.Fail(http.StatusRequestEntityTooLarge, "the file is too large to be shown; download it")
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
}

// gitView answers with a part of a repository that the query names, as it is since a ref.
func (s *Service) gitView(r *http.Request, show func(files workspace.Files, path, ref string) (any, error)) (any, error) {
	q := rest.QueryOf(r)
	name, ref := q.Required("path"), q.String("ref", "")
	if err := q.Err(); err != nil {
		return nil, err
	}
	files, path, err := s.files(r, name)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	shown, err := show(files, path, ref)
	return shown, gitError(err, path, name)
}

func (s *Service) gitChanges(r *http.Request) (any, error) {
	return s.gitView(r, func(files workspace.Files, path, ref string) (any, error) {
		changes, err := files.Changes(r.Context(), path, ref)
		return append([]gitview.Change{}, changes...), err
	})
}

func (s *Service) gitDiff(r *http.Request) (any, error) {
	return s.gitView(r, func(files workspace.Files, path, ref string) (any, error) {
		return files.FileDiff(r.Context(), path, ref)
	})
}

// gitError is nil where there is no repository, which has no changes. git's refusals name
// the path as the client did.
func gitError(err error, path, name string) error {
	switch {
	case errors.Is(err, gitview.ErrNoRepository):
		return nil
	case fault.Is(err, fault.Invalid):
		return schema.Invalid(strings.ReplaceAll(err.Error(), path, name), name, "query", "path")
	}
	return err
}

// skillInfo is a skill of a conversation's project, in the form of OpenHands' page.
type skillInfo struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Content  string   `json:"content"`
	Triggers []string `json:"triggers"`
}

func (s *Service) skills(r *http.Request) (any, error) {
	files, _, err := s.files(r, "")
	if err != nil {
		return nil, err
	}
	defer files.Close()
	found, _, err := files.Skills(r.Context())
	if err != nil {
		return nil, err
	}
	out := []skillInfo{}
	for _, k := range found {
		one := skillInfo{Name: k.Name, Type: "repo", Content: k.Content, Triggers: []string{}}
		if k.Trigger != nil {
			one.Type, one.Triggers = "knowledge", append(one.Triggers, k.Trigger.Words...)
		}
		out = append(out, one)
	}
	return map[string]any{"skills": out}, nil
}

// hooks answers with the hooks of the project's file; one that is not valid counts as
// none.
func (s *Service) hooks(r *http.Request) (any, error) {
	files, name, err := s.files(r, ".openhands/hooks.json")
	if err != nil {
		return nil, err
	}
	defer files.Close()
	out := struct {
		Hooks *hook.Config `json:"hooks"`
	}{}
	f, err := files.Open(r.Context(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	if c, err := hook.Parse(raw); err == nil {
		out.Hooks = c
	}
	return out, nil
}

// Bounds of a list of files. OpenHands' page shows no more of them.
const (
	maxTreeFiles       = 2000
	maxTreeDirectories = 2000
)

// untold are directories of programs, whose files are not listed.
var untold = []string{
	".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target",
	".next", ".cache", ".pytest_cache", ".mypy_cache", ".turbo", ".parcel-cache",
}

// tree answers with the paths of the files in a directory and below it, relative to it
// and sorted: the first maxTreeFiles, of upper directories first. OpenHands' page asks
// for it, its document does not have it.
func (s *Service) tree(r *http.Request) (any, error) {
	files, dir, err := s.files(r, rest.QueryOf(r).String("path", ""))
	if err != nil {
		return nil, err
	}
	defer files.Close()
	found, err := treeOf(r.Context(), files, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fault.New(fault.NotFound, "there is no directory "+dir)
	}
	return found, err
}

func treeOf(ctx context.Context, files workspace.Files, dir string) ([]string, error) {
	found, waiting := []string{}, []string{""}
	for n := 0; n < len(waiting) && len(found) < maxTreeFiles; n++ {
		entries, err := files.List(ctx, path.Join(dir, waiting[n]))
		if err != nil && n > 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) || fault.Is(err, fault.Invalid)) {
			continue // an agent at work removed it, or took it from its reader
		}
		if err != nil {
			return nil, err
		}
		for _, fi := range entries {
			name := path.Join(waiting[n], fi.Name())
			switch {
			case fi.Mode().IsRegular() && len(found) < maxTreeFiles:
				found = append(found, name)
			case fi.IsDir() && !slices.Contains(untold, fi.Name()) && len(waiting) < maxTreeDirectories:
				waiting = append(waiting, name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
