package appserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/internal/must"
)

const oneAnswer = `
by_history: true
turns:
  - reply: {text: done}
`

// TestOrganisation: a conversation has the skills of its repository's organisation, between the
// repository's and the user's. Their programs do not start. An account without them is no mistake.
func TestOrganisation(t *testing.T) {
	t.Parallel()
	g := forgetest.StartGitea(t)
	type object = map[string]any
	g.Do(g.Token, "POST", "/orgs", object{"username": "acme"}, nil)
	for _, name := range []string{"app", ".openhands"} {
		g.Do(g.Token, "POST", "/orgs/acme/repos", object{"name": name, "private": true, "default_branch": "main"}, nil)
	}
	g.Do(g.Token, "POST", "/user/repos", object{"name": "app", "default_branch": "main"}, nil)
	g.Push("octocat/app", `echo hello >README.md; git add -A; git commit -qm one`)
	g.Push("acme/app", `mkdir -p .openhands/microagents; echo "rule 4803 of the repository" >.openhands/microagents/style.md; git add -A; git commit -qm one`)
	g.Push("acme/.openhands", `mkdir -p microagents skills/shout
printf -- '---\nname: rules\nmcp_tools:\n  stdio_servers:\n    - {name: planted, command: touch, args: [planted]}\n---\nrule 4801 of the organisation\n' >microagents/rules.md
echo "rule 4802 of the organisation" >microagents/style.md
echo "rule 4804 of the organisation" >microagents/pick.md
printf -- '---\nname: shout\ndescription: how to shout, rule 4806\n---\nIn capitals.\n' >skills/shout/SKILL.md
ln -s /etc/passwd microagents/out.md
git add -A; git commit -qm one`)
	home := t.TempDir()
	own := filepath.Join(home, ".openhands", "microagents")
	must.Succeed(t, os.MkdirAll(own, 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(own, "pick.md"), []byte("rule 4805 of the user\n"), 0o600))
	d := deploy(t, oneAnswer, options{dir: home})
	d.owner.do(t, "POST", d.url+"/api/v1/secrets/git-providers", object{"provider_tokens": object{"forgejo": object{"token": g.Token, "host": g.URL}}}, nil)

	c, _ := d.begin(t, object{"title": "Look", "selected_repository": "acme/app", "git_provider": "forgejo", "initial_message": text("look")})
	said := warned(d.follow(t, c, "finished"))
	for _, rule := range []string{"rule 4801", "rule 4803", "rule 4804", "rule 4806"} {
		d.wasTold(t, rule)
	}
	for _, r := range d.llm.Requests() {
		for _, rule := range []string{"rule 4802", "rule 4805"} {
			if strings.Contains(r.Body, rule) {
				t.Errorf("the model was told %s, which another one replaces", rule)
			}
		}
	}
	for _, want := range []string{"MCP server planted of the skill rules does not run", "organisation acme/.openhands/microagents/out.md"} {
		if !strings.Contains(said, want) {
			t.Errorf("the warnings lack %q: %s", want, said)
		}
	}

	c, _ = d.begin(t, object{"title": "Look", "selected_repository": "octocat/app", "git_provider": "forgejo", "initial_message": text("look")})
	if said := warned(d.follow(t, c, "finished")); said != "" {
		t.Errorf("without a repository of skills: %s", said)
	}
}

// TestOrganisationFails: a host that does not tell whether there are skills is a warning.
func TestOrganisationFails(t *testing.T) {
	t.Parallel()
	hub := newGitHub(t)
	hub.fails = "/api/v3/repos/octocat/.openhands"
	d := join(t, oneAnswer)
	d.owner.do(t, "POST", d.url+"/api/v1/secrets/git-providers", map[string]any{"provider_tokens": map[string]any{"github": map[string]any{"token": gitToken, "host": hub.URL}}}, nil)
	c, _ := d.begin(t, map[string]any{"title": "Look", "selected_repository": "octocat/r", "git_provider": "github", "initial_message": text("look")})
	if said := warned(d.follow(t, c, "finished")); !strings.Contains(said, "the skills of the repository's organisation are not loaded: ") {
		t.Errorf("the warnings: %s", said)
	}
}
