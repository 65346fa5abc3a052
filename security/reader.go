package security

import (
	"cmp"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The rails, by their stable names.
const (
	railFetch  = "fetch-to-exec"
	railDisk   = "raw-disk-op"
	railDelete = "catastrophic-delete"
)

const (
	maxSteps  = 100_000  // syntax nodes of one action that are visited
	maxDepth  = 16       // scripts within scripts
	maxNested = 1000     // nested statements and programs
	maxScript = 64 << 10 // bytes of one script; also bounds how deep the parser goes
	maxParsed = 4 << 20  // bytes of all scripts of one action
)

// findings are the reader's findings.
type findings struct {
	rule, reason string // of the first rail that was broken; empty for none
	unclear      string // the first thing that matters and is unknown
	sign         sign   // the first one; empty for none
	hiddenDelete bool   // the options of an rm -rf at an unknown command
}

// commandReader reads shell scripts as bash would, without running anything. It
// follows everything static: variables that are set once, substitutions of echo
// and printf, pipes, heredocs, files that the script itself writes, wrappers,
// functions, and scripts within scripts. One goroutine uses it.
type commandReader struct {
	findings
	steps, depth int
	nest, parsed int
	assigned     map[string][]*syntax.Word // by variable; nil for a value that is not a word
	reading      map[string]bool           // variables whose value is being read
	functions    map[string]*syntax.Stmt
	calling      map[string]bool
	arrays       map[string][]*syntax.ArrayExpr // by variable
	aliases      map[string]string
	params       *params         // positional parameters; nil when unknown
	loops        int             // loops around the current statement
	stdin        text            // of the current statement
	open         map[string]text // input of file descriptors above 0
	files        map[string]text // files that the script has written, by path
	cwd          string          // where cd went, perhaps from where the shell is; empty when unknown
}

type params struct{ rest []text }

func newCommandReader() *commandReader {
	return &commandReader{
		assigned: map[string][]*syntax.Word{}, reading: map[string]bool{}, functions: map[string]*syntax.Stmt{},
		calling: map[string]bool{}, files: map[string]text{}, arrays: map[string][]*syntax.ArrayExpr{}, aliases: map[string]string{},
	}
}

func (cr *commandReader) report(rule, reason string) {
	if cr.rule == "" {
		cr.rule, cr.reason = rule, reason
	}
}

func (cr *commandReader) reportUnknown(why string) {
	cr.unclear = cmp.Or(cr.unclear, why)
}

// step counts a unit of work and reports whether the limit allows more.
func (cr *commandReader) step() bool {
	if cr.steps++; cr.steps > maxSteps {
		cr.reportUnknown("the command is too complex to be analyzed")
		return false
	}
	return true
}

// nestIn counts nested statements and programs and reports whether the limit
// allows one more; the caller then calls nestOut.
func (cr *commandReader) nestIn() bool {
	if cr.nest == maxNested {
		cr.reportUnknown("the command is nested too deeply to be analyzed")
		return false
	}
	cr.nest++
	return true
}

func (cr *commandReader) nestOut() { cr.nest-- }

// script analyzes a text that a shell runs and returns its output. sure means
// that the text is certainly a script, so that syntax errors matter.
func (cr *commandReader) script(src string, stdin text, sure bool) text {
	if cr.depth >= maxDepth {
		cr.reportUnknown("shells are nested too deeply")
		return text{}
	}
	if cr.parsed += len(src); len(src) > maxScript || cr.parsed > maxParsed {
		if sure {
			cr.reportUnknown("the script is too long to be analyzed")
		}
		return text{}
	}
	cr.depth++
	defer func() { cr.depth-- }()
	var list []*syntax.Stmt
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var failed error
	// Bash runs the commands in front of a syntax error, too.
	for st, err := range parser.StmtsSeq(strings.NewReader(src)) {
		switch {
		case failed != nil: // the parser may go on; leaving the loop makes it panic
		case err != nil:
			failed = err
		default:
			list = append(list, st)
		}
	}
	if failed != nil {
		if !sure {
			return text{}
		}
		cr.reportUnknown("the command is not a valid shell script")
	}
	for _, st := range list {
		cr.collect(st)
	}
	return cr.statements(list, stdin)
}

// collect records variables and functions. The order of execution is not
// followed, so a variable that is set twice is unknown.
func (cr *commandReader) collect(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if n != nil && !cr.step() {
			return false
		}
		switch n := n.(type) {
		case *syntax.Assign:
			switch {
			case n.Name == nil || n.Naked:
			case n.Array != nil && !n.Append:
				cr.arrays[n.Name.Value] = append(cr.arrays[n.Name.Value], n.Array)
				cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], nil)
			case n.Append || n.Array != nil || n.Index != nil:
				cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], nil, nil)
			case n.Value == nil:
				cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], &syntax.Word{})
			default:
				cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], n.Value)
			}
		case *syntax.WordIter:
			cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], n.Items...)
			if len(n.Items) != 1 {
				cr.assigned[n.Name.Value] = append(cr.assigned[n.Name.Value], nil, nil)
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "read" {
				for _, w := range n.Args[1:] {
					cr.assigned[w.Lit()] = append(cr.assigned[w.Lit()], nil, nil)
				}
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				cr.functions[n.Name.Value] = n.Body
			}
		}
		return true
	})
}

// statements analyzes statements in order and returns their output.
func (cr *commandReader) statements(list []*syntax.Stmt, stdin text) text {
	out := static("")
	for _, st := range list {
		out = out.and(cr.statement(st, stdin))
	}
	return out
}

// substitute analyzes a command substitution. It reads the standard input of the
// command around it.
func (cr *commandReader) substitute(list []*syntax.Stmt) text {
	cwd := cr.cwd
	defer func() { cr.cwd = cwd }()
	stdin := text{} // a terminal may still get any input
	if cr.stdin.piped {
		stdin = cr.stdin
	}
	if len(list) == 1 && list[0].Cmd == nil && len(list[0].Redirs) == 1 { // $(<file)
		if in, ok := cr.input(list[0].Redirs[0]); ok {
			return in
		}
	}
	return cr.statements(list, stdin)
}

// statement analyzes a statement with its redirections. stdin is its input: the
// zero text is unknown.
func (cr *commandReader) statement(st *syntax.Stmt, stdin text) text {
	if st == nil || !cr.step() || !cr.nestIn() {
		return text{}
	}
	defer cr.nestOut()
	outer, open := cr.stdin, cr.open
	cr.stdin = stdin
	stdin, to := cr.redirect(st.Redirs, stdin)
	out := cr.command(st.Cmd, stdin)
	cr.stdin = outer
	if !keepsRedirections(st) {
		cr.open = open
	} else if to != nil && to.sink != nil {
		cr.reportUnknown("the output of what follows goes to a command")
	}
	return cr.write(to, out)
}

// clean makes a path comparable: absolute if that is known.
func (cr *commandReader) clean(p string) string {
	if !path.IsAbs(p) && !strings.HasPrefix(p, "~") && cr.cwd != "" {
		p = cr.cwd + "/" + p
	}
	p = path.Clean(p)
	for _, root := range []string{"/proc/self/root", "/proc/thread-self/root", "/proc/1/root"} {
		if rest, ok := strings.CutPrefix(p, root); ok && (rest == "" || rest[0] == '/') {
			return path.Clean("/" + rest)
		}
	}
	return p
}

// command analyzes a command of any kind.
func (cr *commandReader) command(c syntax.Command, stdin text) text {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return cr.call(c, stdin)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			cwd := cr.cwd
			piped := cr.statement(c.X, stdin)
			piped.piped = true
			out := cr.statement(c.Y, piped)
			cr.cwd = cwd
			return out
		}
		out := cr.statement(c.X, stdin)
		return out.and(cr.statement(c.Y, stdin))
	case *syntax.Subshell:
		cwd := cr.cwd
		defer func() { cr.cwd = cwd }()
		return cr.statements(c.Stmts, stdin)
	case *syntax.Block:
		return cr.statements(c.Stmts, stdin)
	case *syntax.IfClause:
		var out text
		for ; c != nil; c = c.Else {
			out = out.and(cr.statements(c.Cond, stdin)).and(cr.statements(c.Then, stdin))
		}
		return out
	case *syntax.WhileClause:
		cr.loops++
		defer func() { cr.loops-- }()
		return text{}.and(cr.statements(c.Cond, stdin)).and(cr.statements(c.Do, stdin))
	case *syntax.ForClause:
		cr.nested(c.Loop)
		cr.loops++
		defer func() { cr.loops-- }()
		return text{}.and(cr.statements(c.Do, stdin))
	case *syntax.CaseClause:
		cr.one(c.Word)
		var out text
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				cr.one(pattern)
			}
			out = out.and(cr.statements(item.Stmts, stdin))
		}
		return out
	case *syntax.FuncDecl:
		cr.enter("", c.Body, nil, stdin)
		return static("")
	case *syntax.TimeClause:
		return cr.statement(c.Stmt, stdin)
	case *syntax.CoprocClause:
		return cr.statement(c.Stmt, stdin)
	case *syntax.LetClause:
		for _, e := range c.Exprs {
			if w, ok := e.(*syntax.Word); ok {
				cr.document(cr.one(w).s)
			}
		}
		return static("")
	case nil:
		return static("")
	default:
		cr.nested(c)
		return static("")
	}
}

// nested analyzes the substitutions within anything else.
func (cr *commandReader) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			cr.substitute(n.Stmts)
			return false
		case *syntax.ProcSubst:
			cr.statements(n.Stmts, text{})
			return false
		}
		return true
	})
}

// enter analyzes the body of a function with its arguments; nil for unknown.
func (cr *commandReader) enter(name string, body *syntax.Stmt, args *params, stdin text) text {
	if name != "" && cr.calling[name] {
		return text{}
	}
	outer := cr.params
	cr.params, cr.calling[name] = args, name != ""
	defer func() { cr.params = outer; delete(cr.calling, name) }()
	return cr.statement(body, stdin)
}

// call analyzes a simple command.
func (cr *commandReader) call(c *syntax.CallExpr, stdin text) text {
	for _, a := range c.Assigns {
		if a.Value != nil {
			value := cr.one(a.Value)
			if a.Name != nil {
				cr.environment(a.Name.Value, value)
			}
		}
		if a.Array != nil {
			cr.nested(a.Array)
		}
		if a.Index != nil {
			cr.nested(a.Index)
		}
	}
	var args []text
	for _, w := range c.Args {
		if args = append(args, cr.fields(w)...); len(args) > maxWords {
			cr.reportUnknown("a command has too many words")
			args = args[:maxWords]
			break
		}
	}
	if len(args) == 0 {
		return static("")
	}
	return cr.run(args, stdin)
}
