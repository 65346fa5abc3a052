package browser

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// markdown writes the visible text of a page as Markdown. It works on the page as it is laid out: hidden text is
// left out, and elements are blocks where they are shown as blocks. Libraries need the page as HTML, and with
// it a table of all entities in the memory of each process.
type markdown struct {
	links bool
	base  *url.URL
	depth int
}

// maxDepth bounds how deep blocks are nested; deeper ones are written as one line.
const maxDepth = 300

// markdown returns the page as Markdown, with the addresses of links if links is set.
func (s *snapshot) markdown(links bool) string {
	m := &markdown{links: links}
	if base, err := url.Parse(s.url); err == nil {
		m.base = base
	}
	return strings.TrimSpace(strings.Join(m.blocks(s.root), "\n\n"))
}

// line gathers the text of one block.
type line struct {
	b     strings.Builder
	space bool // before the next word
}

// add adds a text, whose white space counts as single spaces.
func (l *line) add(text string) {
	for i, word := range strings.FieldsFunc(text, isSpace) {
		if l.b.Len() > 0 && (l.space || i > 0 || isSpace(rune(text[0]))) && !strings.HasSuffix(l.b.String(), "\n") {
			l.b.WriteByte(' ')
		}
		l.b.WriteString(word)
		l.space = false
	}
	l.space = l.space || text != "" && isSpace(rune(text[len(text)-1]))
}

// isSpace reports the characters that HTML collapses.
func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' }

// blocks are the blocks of a node's children.
func (m *markdown) blocks(n *node) (all []string) {
	if m.depth++; m.depth > maxDepth {
		m.depth--
		return []string{n.words(10 * maxText)}
	}
	defer func() { m.depth-- }()
	l := &line{}
	m.run(n, l, func(more ...string) {
		if text := strings.TrimSpace(l.b.String()); text != "" {
			all = append(all, text)
		}
		all = append(all, more...)
		*l = line{}
	})
	if text := strings.TrimSpace(l.b.String()); text != "" {
		all = append(all, text)
	}
	return all
}

// skipped are elements whose text is not the page's.
var skipped = []string{
	"head", "script", "style", "noscript", "template", "select", "textarea", "svg", "math", "canvas", "audio", "video", "object", "datalist",
}

// run adds the children of a node to a line; end ends the line and adds blocks.
func (m *markdown) run(n *node, l *line, end func(more ...string)) {
	for _, c := range n.children {
		switch {
		case slices.Contains(skipped, c.tag) || c.attrs["aria-hidden"] == "true" && c.tag != "#text":
		case c.tag == "#text":
			if c.visible() {
				l.add(c.text)
			}
		case c.tag == "br":
			l.b.WriteByte('\n')
			l.space = false
		case c.tag == "img":
			if alt := c.attrs["alt"]; alt != "" && c.visible() {
				l.add(" ![" + alt + "] ")
			}
		case c.tag == "a" || c.tag == "code" && c.style.display == "inline" || c.tag == "b" || c.tag == "strong" || c.tag == "em" || c.tag == "i":
			m.marked(c, l, end)
		case c.tag == "#document" || c.block():
			end(m.block(c)...)
		default:
			apart := strings.HasPrefix(c.style.display, "inline-")
			l.space = l.space || apart
			m.run(c, l, end)
			l.space = l.space || apart
		}
	}
}

// block reports whether an element is shown as a block.
func (n *node) block() bool {
	d := n.style.display
	return d == "block" || d == "flex" || d == "grid" || d == "list-item" || d == "flow-root" || strings.HasPrefix(d, "table")
}

// marked adds an element whose marks go around its text. Blocks in it are one line.
func (m *markdown) marked(n *node, l *line, end func(...string)) {
	if n.style.display == "block" || n.style.display == "flex" {
		end()
		defer end()
	}
	text := m.flat(n)
	if text == "" {
		return
	}
	switch n.tag {
	case "a":
		if href := n.attrs["href"]; m.links && href != "" && !strings.HasPrefix(href, "javascript:") {
			text = "[" + text + "](" + m.absolute(href) + ")"
		}
	case "code":
		text = "`" + strings.ReplaceAll(text, "`", "'") + "`"
	case "b", "strong":
		text = "**" + text + "**"
	default:
		text = "*" + text + "*"
	}
	if raw := n.children; len(raw) > 0 && raw[0].tag == "#text" && raw[0].text != "" && isSpace(rune(raw[0].text[0])) {
		l.space = true
	}
	l.add(text)
}

func (m *markdown) absolute(href string) string {
	if m.base != nil {
		if u, err := m.base.Parse(href); err == nil {
			href = u.String()
		}
	}
	return clip(href, maxAddress)
}

// flat is the content of a node in one line.
func (m *markdown) flat(n *node) string {
	return strings.Join(strings.Fields(strings.Join(m.blocks(n), " ")), " ")
}

// block writes an element that is a block.
func (m *markdown) block(n *node) []string {
	one := func(prefix, text string) []string {
		if text == "" {
			return nil
		}
		return []string{prefix + text}
	}
	switch n.tag {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return one(strings.Repeat("#", int(n.tag[1]-'0'))+" ", strings.ReplaceAll(m.flat(n), "**", ""))
	case "ul", "ol", "menu":
		return one("", m.list(n))
	case "li":
		return one("- ", indent(strings.Join(m.blocks(n), "\n"), "  "))
	case "pre":
		return one("", fenced(n))
	case "blockquote":
		return one("> ", strings.ReplaceAll(strings.Join(m.blocks(n), "\n\n"), "\n", "\n> "))
	case "table":
		return m.table(n)
	case "hr":
		return []string{"---"}
	}
	return m.blocks(n)
}

// indent indents all lines but the first.
func indent(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

func (m *markdown) list(n *node) string {
	var items []string
	number, err := strconv.Atoi(n.attrs["start"])
	if err != nil {
		number = 1
	}
	for _, c := range n.children {
		mark := "- "
		if n.tag == "ol" {
			mark = strconv.Itoa(number) + ". "
		}
		if c.tag != "li" && !c.block() {
			continue
		}
		if text := strings.Join(m.blocks(c), "\n"); text != "" {
			items = append(items, mark+indent(text, strings.Repeat(" ", len(mark))))
			number++
		}
	}
	return strings.Join(items, "\n")
}

// fenced is preformatted text.
func fenced(n *node) string {
	var b strings.Builder
	n.each(func(c *node) {
		if c.tag == "#text" && c.visible() {
			b.WriteString(c.text)
		} else if c.tag == "br" {
			b.WriteByte('\n')
		}
	})
	text := strings.Trim(b.String(), "\n")
	if text == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// table writes a table of data; one that only arranges the page, with other tables in it, is written as blocks.
func (m *markdown) table(n *node) []string {
	nested := false
	for _, c := range n.children {
		c.each(func(c *node) { nested = nested || c.tag == "table" })
	}
	if nested {
		return m.blocks(n)
	}
	var rows [][]string
	var before []string
	n.each(func(c *node) {
		switch {
		case c.tag == "caption":
			before = append(before, m.blocks(c)...)
		case c.tag == "tr" && c.shown:
			rows = append(rows, m.cells(c))
		}
	})
	if len(rows) == 0 {
		return m.blocks(n)
	}
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	var b strings.Builder
	for i, r := range rows {
		for len(r) < columns {
			r = append(r, "")
		}
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", columns) + "|\n")
		}
	}
	return append(before, strings.TrimSuffix(b.String(), "\n"))
}

func (m *markdown) cells(row *node) (cells []string) {
	for _, c := range row.children {
		if c.tag == "td" || c.tag == "th" {
			cells = append(cells, strings.ReplaceAll(m.flat(c), "|", `\|`))
		}
	}
	return cells
}
