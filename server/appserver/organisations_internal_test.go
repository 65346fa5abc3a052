package appserver

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/skill"
)

func TestOrganisationRepository(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider         forge.Provider
		repository, want string
	}{
		{forge.GitHub, "acme/app", "acme/.openhands"},
		{forge.Bitbucket, "acme/app", "acme/.openhands"},
		{forge.Forgejo, "acme/app", "acme/.openhands"},
		{forge.GitLab, "acme/app", "acme/openhands-config"},
		{forge.GitLab, "acme/web/shop/app", "acme/openhands-config"},
	} {
		if got := organisationRepository(c.provider, c.repository); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.provider, c.repository, got, c.want)
		}
	}
}

// TestKeptSkills: skills are read once a minute for each owner, and failures are not kept.
func TestKeptSkills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kept organisations
		loads := 0
		load := func() (organisationSkills, error) {
			loads++
			return organisationSkills{found: []skill.Skill{{Name: fmt.Sprint(loads)}}}, nil
		}
		broken := errors.New("the host does not answer")
		if _, err := kept.get("one", func() (organisationSkills, error) { return organisationSkills{}, broken }); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		for _, c := range []struct {
			key, want string
			after     time.Duration
		}{{"one", "1", 0}, {"one", "1", keepSkills - 1}, {"another", "2", 0}, {"one", "3", 1}} {
			time.Sleep(c.after)
			got, err := kept.get(c.key, load)
			must.Succeed(t, err)
			if got.found[0].Name != c.want {
				t.Errorf("%s after %s: load %s, want %s", c.key, c.after, got.found[0].Name, c.want)
			}
		}
	})
}
