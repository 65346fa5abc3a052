package form

import (
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// The bodies of operations on one conversation (docs/openhands/sdk-wire.md
// section 4).
var (
	Patch = &s.Object{Fields: []s.Field{
		{Name: "title", Type: s.Opt(s.String{Min: 1, Max: 200})},
		{Name: "tags", Type: tags},
	}}
	Fork = &s.Object{Fields: []s.Field{
		{Name: "id", Type: s.Opt(s.UUID{})},
		{Name: "title", Type: s.Opt(s.String{Max: 200})},
		{Name: "tags", Type: tags},
		{Name: "reset_metrics", Type: flag},
		{Name: "from_event_id", Type: text},
	}}
	Child = &s.Object{Fields: []s.Field{
		{Name: "task", Type: s.String{Min: 1}, Required: true},
		{Name: "title", Type: text},
		{Name: "isolation", Type: s.Enum{"worktree", "shared"}},
	}}
	Goal = &s.Object{Fields: []s.Field{
		{Name: "objective", Type: s.String{}, Required: true},
		{Name: "max_iterations", Type: s.Int{Bounds: s.Bounds{GE: &one}}},
	}}
	Question  = &s.Object{Fields: []s.Field{{Name: "question", Type: s.String{}, Required: true}}}
	Secrets   = &s.Object{Fields: []s.Field{{Name: "secrets", Type: s.Sources{Source: source}, Required: true}}}
	Policy    = &s.Object{Fields: []s.Field{{Name: "policy", Type: policy, Required: true}}}
	Analyzer  = &s.Object{Fields: []s.Field{{Name: "security_analyzer", Type: s.Opt(analyzer), Required: true}}}
	Accepting = &s.Object{Fields: []s.Field{
		{Name: "accept", Type: flag, Required: true},
		{Name: "reason", Type: s.String{}},
	}}
)

// source takes a value without a kind, too.
var source = func() s.Kinds {
	k := spec.SecretSourceSchema
	k.Default, k.Mark = "StaticSecret", "value"
	return k
}()

var tags = blank(checkTags, s.Dict{Of: s.String{}})
