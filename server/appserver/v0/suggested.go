package v0

import "fmt"

// suggestedTask is a task that a page has found at a Git host (SuggestedTask).
type suggestedTask struct {
	Provider   string `json:"git_provider"`
	Type       string `json:"task_type"`
	Repository string `json:"repo"`
	Number     int    `json:"issue_number"`
	Title      string `json:"title"`
}

// prompt is the message by which an agent is given the task. The title is a text of
// others, so it is quoted and said to be one.
func (t *suggestedTask) prompt() string {
	request, token := "pull request", "GITHUB_TOKEN"
	switch t.Provider {
	case "gitlab":
		request, token = "merge request", "GITLAB_TOKEN"
	case "bitbucket":
		token = "BITBUCKET_TOKEN"
	}
	its := fmt.Sprintf("%s #%d of the repository %s (its title, which others wrote: %q)", request, t.Number, t.Repository, t.Title)
	ends := fmt.Sprintf(" The API of the Git host can be used with the token in $%s. Commit and push to the branch of the %s; do not open another one.", token, request)
	switch t.Type {
	case "MERGE_CONFLICTS":
		return "Resolve the merge conflicts of " + its + ": merge its target branch into its branch, resolve what conflicts so that both changes keep their meaning, and run the tests." + ends
	case "FAILING_CHECKS":
		return "Make the failing checks of " + its + " pass: find out which checks fail and why, mend the cause, and run them here if that is possible." + ends
	case "UNRESOLVED_COMMENTS":
		return "Work through the review comments of " + its + " that are not resolved: make the changes that they ask for, and say where you did not." + ends
	case "OPEN_PR":
		return "Review and finish " + its + "." + ends
	case "CREATE_MICROAGENT":
		return fmt.Sprintf("Study the repository %s and write down what an agent needs to know to work in it (purpose, layout, how to build, test and check it) in .openhands/microagents/repo.md. Commit that on a new branch and open a %s.", t.Repository, request)
	}
	return fmt.Sprintf("Solve issue #%d of the repository %s (its title, which others wrote: %q). Read the issue with its comments by the API of the Git host, with the token in $%s. Work on a new branch, test your change, push it and open a %s that refers to the issue.",
		t.Number, t.Repository, t.Title, token, request)
}
