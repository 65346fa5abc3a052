package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/agentserver/installation"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// Fetch asks for a plugin to be looked at without installing it.
type Fetch struct {
	Source   string
	Ref      *string
	RepoPath *string
	// Secrets are put in place of ${NAME} in Source and Ref.
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

var placeholder = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// fill puts the secrets in place.
func (f Fetch) fill(text string) (string, error) {
	var missing string
	out := placeholder.ReplaceAllStringFunc(text, func(m string) string {
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

// Fetch fetches a plugin into the cache, where a commit is kept once, and says
// what is in it. Errors are [rest.Error] with a code.
func (s *Service) Fetch(ctx context.Context, f Fetch) (Fetched, error) {
	source, err := f.fill(f.Source)
	if err != nil {
		return Fetched{}, err
	}
	from := installation.Source{Source: source, RepoPath: f.RepoPath}
	if f.Ref != nil {
		ref, err := f.fill(*f.Ref)
		if err != nil {
			return Fetched{}, err
		}
		from.Ref = &ref
	}
	ctx, cancel := context.WithTimeout(ctx, f.Limit)
	defer cancel()
	dir, commit, err := installation.Keep(ctx, from, filepath.Join(s.o.Persistence, "cache", "plugins"))
	if err != nil {
		return Fetched{}, s.fetchError(ctx, f, err)
	}
	p, err := Load(dir)
	if err != nil || p.Manifest == nil {
		why := "plugin.json not found."
		if err != nil {
			why = f.clean(err.Error())
		}
		return Fetched{}, coded(http.StatusUnprocessableEntity, "invalid_plugin", "Invalid plugin: "+why)
	}
	got := Fetched{
		Path: p.Path, ResolvedRef: commit, Source: f.Source, RepoPath: f.RepoPath,
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

// clean takes the secrets out of a message.
func (f Fetch) clean(message string) string {
	for _, v := range f.Secrets {
		if v != "" {
			message = strings.ReplaceAll(message, v, "****")
		}
	}
	return message
}

// fetchError gives an error its code, by what Git said.
func (s *Service) fetchError(ctx context.Context, f Fetch, err error) error {
	if !errors.Is(err, installation.ErrFetch) {
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
	case errors.Is(err, installation.ErrSource):
		return coded(wrong, "invalid_source", "Invalid plugin source.")
	case errors.Is(err, installation.ErrPath):
		path := ""
		if f.RepoPath != nil {
			path = *f.RepoPath
		}
		return coded(wrong, "repo_path_not_found", "repo_path not found: "+path)
	case has("authentication failed", "authentication required"):
		return coded(wrong, "auth_failed", message)
	case has("remote ref", "not our ref", "unadvertised object", "bad object"):
		return coded(wrong, "ref_not_found", message)
	case !installation.IsGitURL(f.Source) && !strings.HasPrefix(f.Source, "github:"):
		return coded(wrong, "invalid_source", message)
	}
	return coded(http.StatusBadGateway, "source_unavailable", message)
}

// secrets reads the secrets of a request: each a text, or a StaticSecret.
// Secrets that would have to be looked up elsewhere count as missing.
func secrets(raw map[string]json.RawMessage) (map[string]string, error) {
	out := map[string]string{}
	for name, v := range raw {
		var text string
		if json.Unmarshal(v, &text) == nil {
			out[name] = text
			continue
		}
		var source struct {
			Kind  string  `json:"kind"`
			Value *string `json:"value"`
		}
		if err := json.Unmarshal(v, &source); err != nil {
			return nil, schema.Invalid("a secret must be a text or a SecretSource", nil, "body", "secrets", name)
		}
		if source.Value != nil && (source.Kind == "" || source.Kind == "StaticSecret") {
			out[name] = *source.Value
		}
	}
	return out, nil
}

// fetchTimeout checks the limit of a fetch, in seconds.
func fetchTimeout(n *int) (time.Duration, error) {
	if n == nil {
		return time.Minute, nil
	}
	if *n < 1 || *n > 600 {
		typ, msg := "greater_than_equal", "Input should be greater than or equal to 1"
		if *n > 600 {
			typ, msg = "less_than_equal", "Input should be less than or equal to 600"
		}
		return 0, schema.Violations{{Type: typ, Loc: []any{"body", "timeout"}, Msg: msg, Input: *n}}
	}
	return time.Duration(*n) * time.Second, nil
}

// contents loads an installed plugin for its listing; nil if it is broken.
func (s *Service) contents(dir string) (skills *[]Summary, files *[]string) {
	p, err := Load(dir)
	if err != nil {
		s.o.Log.Warn("an installed plugin cannot be read", "path", dir, "err", err)
		return nil, nil
	}
	summaries, names := p.Summaries(), p.Files()
	return &summaries, &names
}
