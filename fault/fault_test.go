package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// kinds reads the constants of type Kind from the source, so that a new one
// cannot be forgotten here.
func kinds(t *testing.T) map[string]fault.Kind {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	must.Succeed(t, err)
	found := map[string]fault.Kind{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Kind" {
				continue
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			must.Succeed(t, err)
			found[v.Names[0].Name] = fault.Kind(text)
		}
	}
	if len(found) < 19 {
		t.Fatalf("found only %d kinds: %v", len(found), found)
	}
	return found
}

func TestEveryKindHasCodes(t *testing.T) {
	t.Parallel()
	seen := map[fault.Kind]string{}
	for name, k := range kinds(t) {
		if !fault.HasCodes(k) {
			t.Errorf("%s has neither an exit code nor an HTTP status of its own", name)
		}
		if k.ExitCode() == fault.ExitOK || k.HTTPStatus() < 400 || k.HTTPStatus() > 599 {
			t.Errorf("%s: exit code %d and HTTP status %d do not say that something failed", name, k.ExitCode(), k.HTTPStatus())
		}
		if other := seen[k]; other != "" {
			t.Errorf("%s and %s are the same kind %q", name, other, k)
		}
		seen[k] = name
	}
	if k := fault.Kind("no such kind"); k.ExitCode() != fault.ExitError || k.HTTPStatus() != http.StatusInternalServerError {
		t.Errorf("an unknown kind gives %d and %d", k.ExitCode(), k.HTTPStatus())
	}
}

func TestKindAndHint(t *testing.T) {
	t.Parallel()
	full := fault.New(fault.Full, "no space").Hint("free some")
	for name, c := range map[string]struct {
		err  error
		kind fault.Kind
		hint string
		text string
	}{
		"nothing known":      {errors.New("x"), fault.Internal, "", "x"},
		"plain":              {full, fault.Full, "free some", "no space"},
		"wrapped":            {fmt.Errorf("save: %w", full), fault.Full, "free some", "save: no space"},
		"outermost kind":     {fault.Wrap(full, fault.Unavailable, "no sandbox"), fault.Unavailable, "free some", "no sandbox: no space"},
		"outermost hint":     {fault.New(fault.Auth, "no key").Because(full).Hint("set one"), fault.Auth, "set one", "no key: no space"},
		"joined":             {errors.Join(errors.New("x"), full), fault.Full, "free some", "x\nno space"},
		"joined, later hint": {errors.Join(fault.New(fault.Auth, "no key"), full), fault.Auth, "free some", "no key\nno space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.KindOf(c.err); got != c.kind || !fault.Is(c.err, c.kind) {
				t.Errorf("kind %q, want %q", got, c.kind)
			}
			if got := fault.HintOf(c.err); got != c.hint {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
			if got := c.err.Error(); got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
		})
	}
}

func TestNothingWrong(t *testing.T) {
	t.Parallel()
	if err := fault.Wrap(nil, fault.Full, "x"); err != nil {
		t.Errorf("Wrap(nil) = %v", err)
	}
	if fault.Is(nil, fault.Internal) {
		t.Error("no error is internal")
	}
	if h := fault.HintOf(nil); h != "" {
		t.Errorf("hint %q of no error", h)
	}
}

func TestErrorsAreImmutable(t *testing.T) {
	t.Parallel()
	e := fault.New(fault.NotFound, "no file")
	cause := errors.New("cause")
	if h := e.Hint("look elsewhere").Because(cause); !errors.Is(h, cause) || fault.HintOf(h) != "look elsewhere" {
		t.Errorf("%v has lost its cause or hint", h)
	}
	if fault.HintOf(e) != "" || errors.Is(e, cause) {
		t.Errorf("%v was changed", e)
	}
}

func TestIsComparesKinds(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("open: %w", fault.New(fault.NotFound, "no file"))
	if !errors.Is(err, fault.New(fault.NotFound, "")) {
		t.Error("a bare error of the same kind does not match")
	}
	if errors.Is(err, fault.New(fault.Conflict, "")) || errors.Is(err, fault.New(fault.NotFound, "other")) {
		t.Error("an error of another kind, or with a message of its own, matches")
	}
	if k := fault.New(fault.Auth, "x").Kind(); k != fault.Auth {
		t.Errorf("Kind() = %q", k)
	}
}
