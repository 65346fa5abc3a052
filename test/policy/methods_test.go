package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// mostMethods is how many methods session.Conversation may have.
const mostMethods = 60

// TestConversationMethods keeps session.Conversation readable. Work on branches, sub-agents,
// titles, hooks and the like belongs to the types that it returns: Branches, Delegation, …
func TestConversationMethods(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range files(t, ".go") {
		if path.Dir(f) != "session" || strings.HasSuffix(f, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f), nil, parser.SkipObjectResolution)
		must.Succeed(t, err)
		for _, d := range parsed.Decls {
			if receiver(d) == "Conversation" {
				n++
			}
		}
	}
	if n < 20 || n > mostMethods {
		t.Errorf("session.Conversation has %d methods, and may have %d", n, mostMethods)
	}
}

// receiver is the name of the type that a method belongs to, or "".
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	at := f.Recv.List[0].Type
	if star, ok := at.(*ast.StarExpr); ok {
		at = star.X
	}
	name, _ := at.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
