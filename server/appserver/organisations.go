package appserver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/server/appserver/git"
	"github.com/deft-dev/deft/skill"
)

// Bounds of the skills of an organisation: a stranger's repository may belong to a hostile one.
const (
	organisationTime = 30 * time.Second
	mostSkills       = 100
	mostSkillBytes   = 1 << 20
	keepSkills       = time.Minute // as the reference keeps public skills
	mostKept         = 1000        // organisations
)

// organisationSkills are the skills of one organisation, and the reasons why they are not all.
type organisationSkills struct {
	found    []skill.Skill
	warnings []string
}

// organisations keeps the skills that owners have seen, for [keepSkills]. The zero value is ready.
type organisations struct {
	mu   sync.Mutex
	kept map[string]keptSkills
}

type keptSkills struct {
	organisationSkills
	until time.Time
}

// get returns the skills of a key, which load finds if they are not kept. A failure is not kept.
func (o *organisations) get(key string, load func() (organisationSkills, error)) (organisationSkills, error) {
	o.mu.Lock()
	one, ok := o.kept[key]
	o.mu.Unlock()
	if ok && time.Now().Before(one.until) {
		return one.organisationSkills, nil
	}
	got, err := load()
	if err != nil {
		return got, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept == nil || len(o.kept) >= mostKept {
		o.kept = map[string]keptSkills{}
	}
	o.kept[key] = keptSkills{got, time.Now().Add(keepSkills)}
	return got, nil
}

// Organisation implements [conversations.Settings]. The skills are in a repository of the
// organisation at the same host. Where there is none, or the owner may not see it, there are no skills.
func (o *owners) Organisation(ctx context.Context, owner identity.Tenant, provider, repository string) ([]skill.Skill, []string) {
	h, of, err := o.organisationOf(ctx, owner, provider, repository)
	if err == nil && h == nil {
		return nil, nil
	}
	var got organisationSkills
	if err == nil {
		url, user, token := h.Clone(of)
		got, err = o.organisations.get(string(owner)+"\n"+url, func() (organisationSkills, error) {
			return loadOrganisation(ctx, h, of, gitfetch.Source{URL: url, User: user, Token: token, Shallow: true})
		})
	}
	if err != nil {
		return nil, []string{"the skills of the repository's organisation are not loaded: " + fault.Text(err)}
	}
	return got.found, got.warnings
}

// organisationOf returns the host of a repository and the repository of its organisation; a nil host for
// the URL of a host that is none of the owner's.
func (o *owners) organisationOf(ctx context.Context, owner identity.Tenant, provider, repository string) (h forge.Host, of string, err error) {
	name := repository
	if gitfetch.IsURL(repository) {
		all, err := o.forgeHosts(ctx, owner, provider)
		if err != nil {
			return nil, "", err
		}
		for _, one := range all {
			if name = git.Named(one, repository); name != "" {
				h = one
				break
			}
		}
		if h == nil {
			return nil, "", nil
		}
	} else if h, err = o.hostOf(ctx, owner, provider, repository); err != nil {
		return nil, "", err
	}
	return h, organisationRepository(h.Provider(), name), nil
}

// organisationRepository names the repository with the skills of the organisation, or the topmost group,
// that a repository belongs to. GitLab takes no name that begins with a dot (reference:
// app_conversation/skill_loader.py).
func organisationRepository(p forge.Provider, repository string) string {
	account, _, _ := strings.Cut(repository, "/")
	if p == forge.GitLab {
		return account + "/openhands-config"
	}
	return account + "/.openhands"
}

// loadOrganisation reads the skills of a repository. Nothing is left of its files: skills have names of
// the repository in place of paths.
func loadOrganisation(ctx context.Context, h forge.Host, repository string, from gitfetch.Source) (out organisationSkills, err error) {
	ctx, cancel := context.WithTimeout(ctx, organisationTime)
	defer cancel()
	if _, err := h.Repository(ctx, repository); err != nil {
		if fault.Is(err, fault.NotFound) {
			return out, nil
		}
		return out, err
	}
	temp, err := os.MkdirTemp("", "deft-organisation-")
	if err != nil {
		return out, fault.Wrap(err, fault.Full, "make a directory for a clone")
	}
	defer os.RemoveAll(temp)
	root := filepath.Join(temp, "r")
	if _, err := gitfetch.Clone(ctx, root, from); err != nil {
		return out, err
	}
	found, warnings := skill.LoadOrganisation(root)
	for _, w := range warnings {
		out.warn(repository + strings.TrimPrefix(w.Path, root) + ": " + fault.Text(w.Err))
	}
	bytes := 0
	for i, s := range found {
		if bytes += len(s.Content); i == mostSkills || bytes > mostSkillBytes {
			out.warn(repository + ": has too many or too large skills; those from " + s.Name + " on are left out")
			break
		}
		if s.Source != nil {
			path := repository + strings.TrimPrefix(*s.Source, root)
			s.Source = &path
		}
		if s.Resources != nil {
			s.Resources = nil
			out.warn(repository + ": the files beside the skill " + s.Name + " are not in the sandbox")
		}
		out.found = append(out.found, s)
	}
	return out, nil
}

// mostSkillWarnings bounds the warnings about one organisation.
const mostSkillWarnings = 10

func (o *organisationSkills) warn(text string) {
	if len(o.warnings) < mostSkillWarnings {
		o.warnings = append(o.warnings, "organisation "+text)
	}
}
