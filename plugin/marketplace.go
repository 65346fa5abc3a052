package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/skill"
)

// Marketplace is a repository that names plugins and skills.
type Marketplace struct {
	Name        string
	Description *string
	Plugins     []Entry
	Skills      []Entry
	// LeftOut names skills that cannot be read, of a marketplace without a manifest.
	LeftOut []string
}

// Entry is a plugin or a skill that a marketplace has.
type Entry struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description *string  `json:"description"`
	Triggers    []string `json:"-"` // of a skill without a manifest
	// From is where it is installed from, Why why it cannot be installed, "" if it can.
	From Source `json:"-"`
	Why  string `json:"-"`

	dir   string       // in the marketplace; "" for a thing that is elsewhere
	skill *skill.Skill // of a marketplace without a manifest
}

// skillDir is the directory of the skill of a marketplace without a manifest, or its only file.
func (e Entry) skillDir(market string) string {
	at := filepath.FromSlash(optional.Value(e.skill.Source))
	if e.skill.AgentSkills {
		at = filepath.Dir(at)
	}
	dir, err := filepath.Rel(market, at)
	if err != nil {
		return "."
	}
	return filepath.ToSlash(dir)
}

// entry is an entry as manifests have it (reference: marketplace/types.py).
type entry struct {
	Entry
	Source   json.RawMessage `json:"source"`
	Strict   *bool           `json:"strict"`
	Commands json.RawMessage `json:"commands"`
	Agents   json.RawMessage `json:"agents"`
	Hooks    json.RawMessage `json:"hooks"`
	Servers  json.RawMessage `json:"mcpServers"`
}

// resolved is the entry with its source in a marketplace that is from a source.
func (e entry) resolved(of Source) Entry {
	out := e.Entry
	inline := len(e.Commands)+len(e.Agents)+len(e.Hooks)+len(e.Servers) > 0
	if e.Strict != nil && !*e.Strict && inline {
		out.Why = "the marketplace itself describes its parts, which is not supported"
		return out
	}
	var text string
	var object struct {
		Source, Repo, URL string
		Ref, Path         *string
	}
	switch {
	case json.Unmarshal(e.Source, &text) == nil && text != "":
		if strings.HasPrefix(text, "github:") || strings.Contains(text, "://") {
			out.From = Source{Source: text}
			return out
		}
		dir := path.Join(optional.Value(of.RepoPath), text)
		if path.IsAbs(text) || !filepath.IsLocal(dir) {
			out.Why = "its source " + text + " leads out of the marketplace"
			return out
		}
		out.From, out.dir = of, text
		out.From.RepoPath = optional.Of(dir)
	case json.Unmarshal(e.Source, &object) == nil && object.Source == "github" && object.Repo != "":
		out.From = Source{Source: "github:" + object.Repo, Ref: object.Ref, RepoPath: object.Path}
	case json.Unmarshal(e.Source, &object) == nil && object.Source == "url" && object.URL != "":
		out.From = Source{Source: object.URL, Ref: object.Ref, RepoPath: object.Path}
	default:
		out.Why = "the marketplace gives no source that can be read"
	}
	return out
}

// manifests are the places of a manifest.
var manifests = []string{".plugin/marketplace.json", ".claude-plugin/marketplace.json"}

// Preview fetches a marketplace and reads its plugins and skills: the entries of its
// manifest, or else the skills in skills/ and .skills/. Nothing is kept. It has the errors of
// [Loader.Load], and Invalid for a manifest that cannot be read.
func (l Loader) Preview(ctx context.Context, from Source) (m Marketplace, err error) {
	if err := l.Check(ctx, []Source{from}); err != nil {
		return m, err
	}
	temp, err := os.MkdirTemp("", "deft-marketplace-")
	if err != nil {
		return m, fmt.Errorf("fetch a marketplace: %w", err)
	}
	defer os.RemoveAll(temp)
	got, err := gitsource.Fetch(ctx, gitsource.Source(from), temp, "")
	if err != nil {
		return m, unloaded(ctx, from, err)
	}
	return readMarketplace(got.Dir, from)
}

// readMarketplace reads the marketplace in a directory, whose source is given.
func readMarketplace(dir string, from Source) (m Marketplace, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, fmt.Errorf("read a marketplace: %w", err)
	}
	defer root.Close()
	for _, name := range manifests {
		text, err := read(root, name, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return m, fault.Wrap(err, fault.Invalid, "invalid marketplace manifest")
		}
		var manifest struct {
			Name        string
			Description *string
			Plugins     []entry
			Skills      []entry
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\uFEFF")), &manifest); err != nil {
			return Marketplace{}, fault.New(fault.Invalid, "invalid marketplace manifest").Because(err)
		}
		m.Name, m.Description = manifest.Name, manifest.Description
		for _, e := range manifest.Plugins {
			m.Plugins = append(m.Plugins, e.resolved(from))
		}
		for _, e := range manifest.Skills {
			m.Skills = append(m.Skills, e.resolved(from))
		}
		return m, nil
	}
	skills, unread := skill.LoadRepository(dir, "skills", ".skills")
	for i, w := range unread { // the directory may be a clone that is gone soon
		if path, err := filepath.Rel(dir, w.Path); err == nil {
			unread[i].Path = filepath.ToSlash(path)
		}
	}
	m.LeftOut = skill.LeftOut(unread)
	for _, s := range skills {
		e := Entry{Name: s.Name, Description: s.Description, skill: &s}
		if s.Trigger != nil {
			e.Triggers = s.Trigger.Words
		}
		m.Skills = append(m.Skills, e)
	}
	return m, nil
}
