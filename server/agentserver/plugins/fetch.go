package plugins

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/server/rest"
)

// Fetch asks for the content of a plugin, without installing it.
type Fetch struct {
	Source gitsource.Source
	// Secrets replace ${NAME} in the source and the ref.
	Secrets map[string]string
	Limit   time.Duration
}

// Fetched is a plugin at one commit.
type Fetched struct {
	Path        string         `json:"path"`
	ResolvedRef *string        `json:"resolved_ref"`
	Source      string         `json:"source"`
	RepoPath    *string        `json:"repo_path"`
	Manifest    map[string]any `json:"manifest"`
	Skills      []string       `json:"skills"`
	Commands    []string       `json:"commands"`
}

// coded is an error with a code of the API.
func coded(status int, code, message string) error {
	return rest.Fail(status, map[string]string{"code": code, "message": message})
}

var placeholder = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// fill replaces the names of secrets by their values.
func (f Fetch) fill(text string) (string, error) {
	var missing string
	out := placeholder().ReplaceAllStringFunc(text, func(m string) string {
		name := m[2 : len(m)-1]
		v, ok := f.Secrets[name]
		if !ok && (missing == "" || name < missing) {
			missing = name
		}
		return v
	})
	if missing != "" {
		return "", coded(http.StatusUnprocessableEntity, "missing_secret", "Missing secret: "+missing)
	}
	return out, nil
}

// Fetch fetches a plugin into the cache, where each commit is kept once, and
// returns its content. Errors are [rest.Error] with a code.
func (s *Service) Fetch(ctx context.Context, f Fetch) (Fetched, error) {
	from := f.Source
	var err error
	if from.Source, err = f.fill(from.Source); err != nil {
		return Fetched{}, err
	}
	if from.Ref != nil {
		ref, err := f.fill(*from.Ref)
		if err != nil {
			return Fetched{}, err
		}
		from.Ref = &ref
	}
	ctx, cancel := context.WithTimeout(ctx, f.Limit)
	defer cancel()
	dir, commit, err := gitsource.Keep(ctx, from, filepath.Join(s.o.Persistence, "cache", "plugins"))
	if err != nil {
		return Fetched{}, s.fetchError(ctx, f, err)
	}
	p, err := plugin.Load(dir)
	if err != nil || p.Manifest == nil {
		why := "plugin.json not found."
		if err != nil {
			why = f.clean(err.Error())
		}
		return Fetched{}, coded(http.StatusUnprocessableEntity, "invalid_plugin", "Invalid plugin: "+why)
	}
	got := Fetched{
		Path: p.Path, ResolvedRef: commit, Source: f.Source.Source, RepoPath: f.Source.RepoPath,
		Manifest: p.Manifest, Skills: []string{}, Commands: []string{},
	}
	for _, one := range p.Skills {
		got.Skills = append(got.Skills, one.Name)
	}
	for _, one := range p.Commands {
		got.Commands = append(got.Commands, strings.TrimPrefix(one.Name, p.Name+":"))
	}
	return got, nil
}

// clean masks the secrets in a message.
func (f Fetch) clean(message string) string {
	for _, v := range f.Secrets {
		if v != "" {
			message = strings.ReplaceAll(message, v, "****")
		}
	}
	return message
}

// fetchError chooses the code of an error by git's output.
func (s *Service) fetchError(ctx context.Context, f Fetch, err error) error {
	if !errors.Is(err, gitsource.ErrFetch) {
		return err
	}
	message := f.clean(err.Error())
	lower := strings.ToLower(message)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(lower, p) })
	}
	const wrong = http.StatusUnprocessableEntity
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return coded(http.StatusGatewayTimeout, "timeout", "Git operation timed out.")
	case errors.Is(err, gitsource.ErrSource):
		return coded(wrong, "invalid_source", "Invalid plugin source.")
	case errors.Is(err, gitsource.ErrPath):
		path := ""
		if f.Source.RepoPath != nil {
			path = *f.Source.RepoPath
		}
		return coded(wrong, "repo_path_not_found", "repo_path not found: "+path)
	case has("authentication failed", "authentication required"):
		return coded(wrong, "auth_failed", message)
	case has("remote ref", "not our ref", "unadvertised object", "bad object"):
		return coded(wrong, "ref_not_found", message)
	case !gitfetch.IsURL(f.Source.Source) && !strings.HasPrefix(f.Source.Source, "github:"):
		return coded(wrong, "invalid_source", message)
	}
	return coded(http.StatusBadGateway, "source_unavailable", message)
}

// contents loads an installed plugin for its listing; nil if it is broken.
func (s *Service) contents(dir string) (skills *[]Summary, files *[]string) {
	p, err := plugin.Load(dir)
	if err != nil {
		s.o.Log.Warn("an installed plugin cannot be read", "path", dir, "err", err)
		return nil, nil
	}
	list, names := summaries(p), p.Files()
	return &list, &names
}
