package security

import (
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
	maxSteps  = 100_000  // nodes of syntax of one action that are looked at
	maxDepth  = 16       // scripts within scripts
	maxNested = 1000     // statements and programs within each other
	maxScript = 64 << 10 // bytes of one script; also bounds how deep the parser goes
	maxParsed = 4 << 20  // bytes of all scripts of one action
)

// findings are what a judge has seen.
type findings struct {
	rule, reason    string // of the first rail that was broken; empty for none
	unclear         string // the first thing that could not be known and matters
	recursiveDelete bool   // an rm -rf of anything
	hiddenDelete    bool   // its options at a command that cannot be known
}

// judge reads shell scripts as bash would, without running anything. It
// follows what is static: variables that are set once, substitutions of echo
// and printf, pipes, heredocs, files that the script itself writes, wrappers,
// functions, and scripts within scripts. One goroutine uses it.
type judge struct {
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
	open         map[string]text // what can be read from file descriptors above 0
	files        map[string]text // what the script has written, by path
	cwd          string          // where cd went, perhaps from where the shell is; empty when unknown
}

type params struct{ rest []text }

func newJudge() *judge {
	return &judge{
		assigned: map[string][]*syntax.Word{}, reading: map[string]bool{}, functions: map[string]*syntax.Stmt{},
		calling: map[string]bool{}, files: map[string]text{}, arrays: map[string][]*syntax.ArrayExpr{}, aliases: map[string]string{},
	}
}

func (j *judge) broken(rule, reason string) {
	if j.rule == "" {
		j.rule, j.reason = rule, reason
	}
}

func (j *judge) unsure(why string) {
	if j.unclear == "" {
		j.unclear = why
	}
}

// step counts work and reports whether there may be more.
func (j *judge) step() bool {
	if j.steps++; j.steps > maxSteps {
		j.unsure("the command is too complex to be read")
		return false
	}
	return true
}

// deeper counts statements and programs within each other and reports whether
// there may be one more; if so, higher takes it back.
func (j *judge) deeper() bool {
	if j.nest == maxNested {
		j.unsure("the command is nested too deep to be read")
		return false
	}
	j.nest++
	return true
}

func (j *judge) higher() { j.nest-- }

// script judges a text that a shell runs, and returns what it writes. sure
// says that it is a script, so that what cannot be read matters.
func (j *judge) script(src string, stdin text, sure bool) text {
	if j.depth >= maxDepth {
		j.unsure("too many shells in each other")
		return text{}
	}
	if j.parsed += len(src); len(src) > maxScript || j.parsed > maxParsed {
		if sure {
			j.unsure("the script is too long to be read")
		}
		return text{}
	}
	j.depth++
	defer func() { j.depth-- }()
	var list []*syntax.Stmt
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var failed error
	// Bash runs what is in front of a syntax error, too.
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
		j.unsure("the command cannot be read as a shell script")
	}
	for _, st := range list {
		j.collect(st)
	}
	return j.statements(list, stdin)
}

// collect notes variables and functions. Which part of a script runs first is
// not followed, so a variable that is set twice is not known.
func (j *judge) collect(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if n != nil && !j.step() {
			return false
		}
		switch n := n.(type) {
		case *syntax.Assign:
			switch {
			case n.Name == nil || n.Naked:
			case n.Array != nil && !n.Append:
				j.arrays[n.Name.Value] = append(j.arrays[n.Name.Value], n.Array)
				j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], nil)
			case n.Append || n.Array != nil || n.Index != nil:
				j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], nil, nil)
			case n.Value == nil:
				j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], &syntax.Word{})
			default:
				j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], n.Value)
			}
		case *syntax.WordIter:
			j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], n.Items...)
			if len(n.Items) != 1 {
				j.assigned[n.Name.Value] = append(j.assigned[n.Name.Value], nil, nil)
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "read" {
				for _, w := range n.Args[1:] {
					j.assigned[w.Lit()] = append(j.assigned[w.Lit()], nil, nil)
				}
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				j.functions[n.Name.Value] = n.Body
			}
		}
		return true
	})
}

// statements judges statements in order and returns what they write.
func (j *judge) statements(list []*syntax.Stmt, stdin text) text {
	out := static("")
	for _, st := range list {
		out = out.and(j.statement(st, stdin))
	}
	return out
}

// substitute judges a command substitution. It reads the standard input of the
// command around it.
func (j *judge) substitute(list []*syntax.Stmt) text {
	cwd := j.cwd
	defer func() { j.cwd = cwd }()
	stdin := text{} // a terminal may still get any input
	if j.stdin.piped {
		stdin = j.stdin
	}
	if len(list) == 1 && list[0].Cmd == nil && len(list[0].Redirs) == 1 { // $(<file)
		if in, ok := j.input(list[0].Redirs[0]); ok {
			return in
		}
	}
	return j.statements(list, stdin)
}

// statement judges a statement with its redirections. stdin is what it reads:
// the zero text is unknown.
func (j *judge) statement(st *syntax.Stmt, stdin text) text {
	if st == nil || !j.step() || !j.deeper() {
		return text{}
	}
	defer j.higher()
	outer, open := j.stdin, j.open
	j.stdin = stdin
	stdin, to := j.redirect(st.Redirs, stdin)
	out := j.command(st.Cmd, stdin)
	j.stdin = outer
	if !keepsRedirections(st) {
		j.open = open
	} else if to != nil && to.sink != nil {
		j.unsure("what follows is written to a command")
	}
	return j.write(to, out)
}

// clean makes a path comparable: absolute if that is known.
func (j *judge) clean(p string) string {
	if !path.IsAbs(p) && !strings.HasPrefix(p, "~") && j.cwd != "" {
		p = j.cwd + "/" + p
	}
	p = path.Clean(p)
	for _, root := range []string{"/proc/self/root", "/proc/thread-self/root", "/proc/1/root"} {
		if rest, ok := strings.CutPrefix(p, root); ok && (rest == "" || rest[0] == '/') {
			return path.Clean("/" + rest)
		}
	}
	return p
}

// command judges a command of any kind.
func (j *judge) command(c syntax.Command, stdin text) text {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c, stdin)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			cwd := j.cwd
			piped := j.statement(c.X, stdin)
			piped.piped = true
			out := j.statement(c.Y, piped)
			j.cwd = cwd
			return out
		}
		out := j.statement(c.X, stdin)
		return out.and(j.statement(c.Y, stdin))
	case *syntax.Subshell:
		cwd := j.cwd
		defer func() { j.cwd = cwd }()
		return j.statements(c.Stmts, stdin)
	case *syntax.Block:
		return j.statements(c.Stmts, stdin)
	case *syntax.IfClause:
		var out text
		for ; c != nil; c = c.Else {
			out = out.and(j.statements(c.Cond, stdin)).and(j.statements(c.Then, stdin))
		}
		return out
	case *syntax.WhileClause:
		j.loops++
		defer func() { j.loops-- }()
		return text{}.and(j.statements(c.Cond, stdin)).and(j.statements(c.Do, stdin))
	case *syntax.ForClause:
		j.nested(c.Loop)
		j.loops++
		defer func() { j.loops-- }()
		return text{}.and(j.statements(c.Do, stdin))
	case *syntax.CaseClause:
		j.one(c.Word)
		var out text
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				j.one(pattern)
			}
			out = out.and(j.statements(item.Stmts, stdin))
		}
		return out
	case *syntax.FuncDecl:
		j.enter("", c.Body, nil, stdin)
		return static("")
	case *syntax.TimeClause:
		return j.statement(c.Stmt, stdin)
	case *syntax.CoprocClause:
		return j.statement(c.Stmt, stdin)
	case *syntax.LetClause:
		for _, e := range c.Exprs {
			if w, ok := e.(*syntax.Word); ok {
				j.document(j.one(w).s)
			}
		}
		return static("")
	case nil:
		return static("")
	default:
		j.nested(c)
		return static("")
	}
}

// nested judges the substitutions within anything else.
func (j *judge) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			j.substitute(n.Stmts)
			return false
		case *syntax.ProcSubst:
			j.statements(n.Stmts, text{})
			return false
		}
		return true
	})
}

// enter judges the body of a function with its arguments; nil for unknown.
func (j *judge) enter(name string, body *syntax.Stmt, args *params, stdin text) text {
	if name != "" && j.calling[name] {
		return text{}
	}
	outer := j.params
	j.params, j.calling[name] = args, name != ""
	defer func() { j.params = outer; delete(j.calling, name) }()
	return j.statement(body, stdin)
}

// call judges a simple command.
func (j *judge) call(c *syntax.CallExpr, stdin text) text {
	for _, a := range c.Assigns {
		if a.Value != nil {
			value := j.one(a.Value)
			if a.Name != nil {
				j.environment(a.Name.Value, value)
			}
		}
		if a.Array != nil {
			j.nested(a.Array)
		}
		if a.Index != nil {
			j.nested(a.Index)
		}
	}
	var args []text
	for _, w := range c.Args {
		if args = append(args, j.fields(w)...); len(args) > maxWords {
			j.unsure("a command has too many words")
			args = args[:maxWords]
			break
		}
	}
	if len(args) == 0 {
		return static("")
	}
	return j.run(args, stdin)
}
