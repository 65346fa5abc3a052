package agentsettings

import (
	"regexp"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

// ConversationVersion is the schema version of conversation settings.
const ConversationVersion = 1

var (
	hundredth     = 0.01
	gitRef        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	branchPrefix  = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._/-]*)?$`)
	dockerMemory  = regexp.MustCompile(`^\d+(\.\d+)? ?[kKmMgGtTpP]?[iI]?[bB]?$`)
	onlyWorktrees = "default_runtime=worktree"
	onlyDocker    = "default_runtime=docker"
)

// Conversation describes settings of new conversations.
var Conversation = &s.Object{
	Name: "ConversationSettings",
	After: func(m *s.Map) error {
		if m.Get("worktree_base") == "ref" && m.Get("worktree_base_ref") == nil {
			return fault.New(fault.Invalid, "Branching worktrees from a ref needs worktree_base_ref")
		}
		return nil
	},
	Fields: []s.Field{
		{Name: "schema_version", Type: s.Int{Bounds: atLeast1}, Default: n("1")},
		{Name: "max_iterations", Type: s.Int{Bounds: atLeast1}, Default: n("500"), Page: needs("Max iterations", "major", "After how many steps a conversation stops.")},
		{Name: "confirmation_mode", Type: s.Bool{}, Default: false, Page: needs("Confirmation mode", "critical", "Ask before risky actions.")},
		{Name: "security_analyzer", Type: s.Opt(s.Enum{"llm", "none"}), Default: "llm", Page: needs("Security analyzer", "major", "Who says how risky an action is.", "confirmation_mode")},
		{Name: "default_runtime", Type: s.Enum{"local", "worktree", "docker"}, Default: "local", Page: needs("Default runtime", "major", "Where new conversations work: in the workspace itself, in a git worktree of it, or in a container of their own.")},
		{Name: "worktree_base", Type: s.Enum{"default_branch", "head", "ref"}, Default: "default_branch", Page: needs("Create worktrees from", "major", "What a new worktree starts from: the default branch, what is checked out, or the ref below.", onlyWorktrees)},
		{Name: "worktree_base_ref", Type: s.Opt(s.String{Pattern: gitRef}), Page: needs("Ref", "major", "Branch, tag or commit that worktrees start from.", onlyWorktrees, "worktree_base=ref")},
		{Name: "worktree_branch_prefix", Type: s.String{Pattern: branchPrefix}, Default: "openhands/", Page: needs("Branch name prefix", "major", "Beginning of the name of a worktree's branch; the conversation's id follows.", onlyWorktrees)},
		{Name: "container_memory", Type: s.Opt(s.String{Pattern: dockerMemory}), Page: needs("Container memory limit", "major", "How much memory a container may take, such as 512m or 4g. Empty takes the server's limit.", onlyDocker)},
		{Name: "container_cpus", Type: s.Opt(s.Number{Bounds: s.Bounds{GE: &hundredth}}), Page: needs("Container CPU limit", "major", "How many CPUs a container may take. Empty takes the server's limit.", onlyDocker)},
		{Name: "container_browser", Type: s.Bool{}, Default: true, Page: needs("Browser in containers", "major", "Run a browser in containers, if their image has one.", onlyDocker)},
	},
}

// ValidateConversation returns conversation settings, those of older versions
// brought up to date.
func ValidateConversation(v any) (*s.Map, error) {
	m, err := migrate(v, "ConversationSettings", ConversationVersion, map[int]func(*s.Map){0: func(*s.Map) {}})
	if err != nil {
		return nil, err
	}
	return Conversation.Check(m, s.Reading{})
}
