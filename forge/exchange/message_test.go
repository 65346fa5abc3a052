package exchange

import "testing"

func TestMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"a text":               {`{"message": "Not Found", "documentation_url": "https://docs.github.com"}`, "Not Found"},
		"of GitHub's fields":   {`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}]}`, "Validation Failed; code: invalid; field: head; resource: PullRequest"},
		"of GitHub's checks":   {`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "No commits between main and fix"}]}`, "Validation Failed; No commits between main and fix"},
		"of GitLab's fields":   {`{"message": {"source_branch": ["is invalid", "is missing"], "base": []}}`, "source_branch: is invalid, is missing"},
		"a list of GitLab":     {`{"message": ["Source branch \"x\" does not exist"]}`, `Source branch "x" does not exist`},
		"an error of GitLab":   {`{"error": "title is missing"}`, "title is missing"},
		"of Bitbucket":         {`{"type": "error", "error": {"fields": {"source": ["branch not found: x"]}, "message": "source: branch not found: x"}}`, "source: branch not found: x"},
		"nothing that is told": {`[]`, ""},
	} {
		if got := message([]byte(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
