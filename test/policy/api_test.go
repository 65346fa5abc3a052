package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// product are the folders whose packages are no library for other modules.
var product = []string{"cli", "cmd", "server", "settings", "test"}

// needInternal are the packages whose exported declarations need an internal
// type all the same, with the reason.
var needInternal = map[string]string{
	"llm/modeltest": "the scripts of the servers that it starts are those of internal/llmtest",
}

// TestPublicAPI: who imports a package from outside the module can name every
// type that its exported declarations need, so none comes from an internal
// package.
func TestPublicAPI(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	for _, file := range files(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/internal/") || below(product, path.Dir(file)) || needInternal[path.Dir(file)] != "" {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		must.Succeed(t, err)
		internal := map[string]string{}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			must.Succeed(t, err)
			if !strings.Contains(p+"/", "/internal/") {
				continue
			}
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			internal[name] = p
		}
		if len(internal) == 0 {
			continue
		}
		for _, d := range f.Decls {
			exposed(d, func(n ast.Node) {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] != "" {
						t.Errorf("%s: an exported declaration needs %s.%s of %s", set.Position(s.Pos()), x.Name, s.Sel.Name, internal[x.Name])
					}
				}
			})
		}
	}
}

// exposed visits the parts of a declaration that are seen from outside: the types
// of exported functions, methods, fields, constants and variables.
func exposed(d ast.Decl, visit func(ast.Node)) {
	all := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool { visit(n); return true })
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
			all(d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if s.TypeParams != nil {
					all(s.TypeParams)
				}
				exposedType(s.Type, all)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Type != nil {
						all(s.Type)
					}
				}
			}
		}
	}
}

// exposedType visits a type without the unexported fields of a struct.
func exposedType(e ast.Expr, all func(ast.Node)) {
	s, ok := e.(*ast.StructType)
	if !ok {
		all(e)
		return
	}
	for _, field := range s.Fields.List {
		exported := len(field.Names) == 0
		for _, n := range field.Names {
			exported = exported || n.IsExported()
		}
		if exported {
			all(field.Type)
		}
	}
}

func exportedReceiver(e ast.Expr) bool {
	if s, ok := e.(*ast.StarExpr); ok {
		e = s.X
	}
	if i, ok := e.(*ast.IndexExpr); ok {
		e = i.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}
