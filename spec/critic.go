package spec

import (
	"slices"

	"github.com/deft-dev/deft/llm"
	s "github.com/deft-dev/deft/schema"
)

// The kinds of critics (docs/openhands/sdk-features.md section 7).
const (
	PassCritic          = "PassCritic"
	EmptyPatchCritic    = "EmptyPatchCritic"
	AgentFinishedCritic = "AgentFinishedCritic"
	APICritic           = "APIBasedCritic"
)

// CriticKinds are the kinds of critics, in the order of messages.
var CriticKinds = []string{AgentFinishedCritic, APICritic, EmptyPatchCritic, PassCritic}

// AllActions is the mode of critics that judge every action, and not the end alone.
const AllActions = "all_actions"

// Critic judges the work of an agent. Kind is one of [CriticKinds]; the fields behind Refinement are
// an [APICritic]'s.
type Critic struct {
	Kind       string      `json:"kind"`
	Mode       string      `json:"mode"`
	Refinement *Refinement `json:"iterative_refinement"` // nil for none

	ServerURL       string     `json:"server_url"`
	APIKey          llm.Secret `json:"api_key"`
	ModelName       string     `json:"model_name"`
	TokenizerName   string     `json:"tokenizer_name"`
	PassTools       bool       `json:"pass_tools_definitions"`
	Timeout         float64    `json:"timeout_seconds"`
	HasSuccessLabel bool       `json:"has_success_label"`
	Sentiments      []string   `json:"sentiment_labels"`
	AgentIssues     []string   `json:"agent_issue_labels"`
	Infrastructure  []string   `json:"infra_labels"`
	FollowUps       []string   `json:"user_followup_labels"`
	IssueThreshold  float64    `json:"issue_threshold"`
}

// Refinement lets the agent try again where the critic is not content.
type Refinement struct {
	SuccessThreshold float64 `json:"success_threshold"`
	MaxIterations    int     `json:"max_iterations"`
}

// DefaultCriticURL is the address of an API critic that names none, and DefaultTokenizer the one whose
// chat template a conversation is written in.
const (
	DefaultCriticURL = "https://llm-proxy.app.all-hands.dev/vllm"
	DefaultTokenizer = "Qwen/Qwen3-4B-Instruct-2507"
)

var (
	none0, all1, once = 0.0, 1.0, 1.0
	share             = s.Number{Bounds: s.Bounds{GE: &none0, LE: &all1}}
)

// The parts that every critic has.
var criticBase = []s.Field{
	{Name: "mode", Type: s.Enum{"finish_and_message", AllActions}, Default: "finish_and_message"},
	{Name: "iterative_refinement", Type: s.Opt(&s.Object{Name: "IterativeRefinementConfig", Fields: []s.Field{
		{Name: "success_threshold", Type: share, Default: s.Float(0.6)},
		{Name: "max_iterations", Type: s.Int{Bounds: s.Bounds{GE: &once}}, Default: s.Count(3)},
	}})},
}

// Critics describes the critic of an agent.
var Critics = Define("CriticBase", s.Tagged{
	Key: "kind", Order: CriticKinds,
	Of: map[string]*s.Object{
		PassCritic:          criticOf(PassCritic),
		EmptyPatchCritic:    criticOf(EmptyPatchCritic),
		AgentFinishedCritic: criticOf(AgentFinishedCritic),
		APICritic: criticOf(APICritic,
			s.Field{Name: "server_url", Type: s.String{}, Default: DefaultCriticURL},
			s.Field{Name: "api_key", Type: s.Opt(s.Secret{}), Required: true},
			s.Field{Name: "model_name", Type: s.String{}, Default: "critic"},
			s.Field{Name: "tokenizer_name", Type: s.String{}, Default: DefaultTokenizer},
			s.Field{Name: "pass_tools_definitions", Type: s.Bool{}, Default: true},
			s.Field{Name: "timeout_seconds", Type: s.Number{}, Default: s.Float(300)},
			s.Field{Name: "has_success_label", Type: s.Bool{}, Default: true},
			labels("sentiment_labels", "sentiment_positive", "sentiment_neutral", "sentiment_negative"),
			labels("agent_issue_labels", "misunderstood_intention", "did_not_follow_instruction", "insufficient_analysis",
				"insufficient_clarification", "improper_tool_use_or_setup", "loop_behavior", "insufficient_testing", "insufficient_debugging",
				"incomplete_implementation", "file_management_errors", "scope_creep", "risky_actions_or_permission", "other_agent_issue"),
			labels("infra_labels", "infrastructure_external_issue", "infrastructure_agent_caused_issue"),
			labels("user_followup_labels", "clarification_or_restatement", "correction", "direction_change", "vcs_update_requests",
				"progress_or_scope_concern", "frustration_or_complaint", "removal_or_reversion_request", "other_user_issue"),
			s.Field{Name: "sentiment_map", Type: s.Dict{Of: s.String{}}, Default: func() any {
				return s.Of("Positive", "sentiment_positive", "Neutral", "sentiment_neutral", "Negative", "sentiment_negative")
			}},
		),
	},
})

func criticOf(kind string, own ...s.Field) *s.Object {
	o := &s.Object{Name: kind, Fields: slices.Concat(own, criticBase)}
	if kind == APICritic {
		o.Fields = append(o.Fields, s.Field{Name: "issue_threshold", Type: share, Default: s.Float(0.75)})
	}
	o.Fields = append(o.Fields, s.Field{Name: "kind", Type: s.Enum{kind}})
	return o
}

func labels(name string, usual ...string) s.Field {
	list := make([]any, len(usual))
	for i, l := range usual {
		list[i] = l
	}
	return s.Field{Name: name, Type: s.List{Of: s.String{}}, Default: list}
}
