package spec

import s "github.com/deft-dev/deft/schema"

// AnalyzerSchema describes a security analyzer: the reference's, and two of Deft's own, which
// package security reads.
var AnalyzerSchema = Define("SecurityAnalyzerBase", s.Tagged{
	Key: "kind",
	Order: []string{
		"PatternSecurityAnalyzer", "PolicyRailSecurityAnalyzer", "EnsembleSecurityAnalyzer", "GraySwanAnalyzer", "LLMSecurityAnalyzer",
		"ToolShieldLLMSecurityAnalyzer", "InvariantAnalyzer", "HTTPSecurityAnalyzer",
	},
	Of: map[string]*s.Object{
		"PatternSecurityAnalyzer":       Variant("PatternSecurityAnalyzer", s.Object{}),
		"PolicyRailSecurityAnalyzer":    Variant("PolicyRailSecurityAnalyzer", s.Object{}),
		"EnsembleSecurityAnalyzer":      Variant("EnsembleSecurityAnalyzer", s.Object{}),
		"GraySwanAnalyzer":              Variant("GraySwanAnalyzer", s.Object{}),
		"LLMSecurityAnalyzer":           Variant("LLMSecurityAnalyzer", s.Object{}),
		"ToolShieldLLMSecurityAnalyzer": Variant("ToolShieldLLMSecurityAnalyzer", s.Object{}),
		"InvariantAnalyzer": {Name: "InvariantAnalyzer", Fields: []s.Field{
			{Name: "api_url", Type: s.String{}, Required: true}, {Name: "policy", Type: s.Opt(s.String{})}, {Name: "timeout", Type: s.Number{}, Default: 60.0},
			{Name: "kind", Type: s.Enum{"InvariantAnalyzer"}, Default: "InvariantAnalyzer"},
		}},
		"HTTPSecurityAnalyzer": {Name: "HTTPSecurityAnalyzer", Fields: []s.Field{
			{Name: "url", Type: s.String{}, Required: true}, {Name: "api_key", Type: s.Opt(s.Secret{})}, {Name: "timeout", Type: s.Number{}, Default: 30.0},
			{Name: "history_limit", Type: s.Int{}, Default: 20}, {Name: "kind", Type: s.Enum{"HTTPSecurityAnalyzer"}, Default: "HTTPSecurityAnalyzer"},
		}},
	},
})
