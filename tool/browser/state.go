package browser

import (
	"fmt"
	"slices"
	"strings"
)

// state is a page for the model, in the form of the reference (browser_use/mcp/server.py of browser-use 0.13),
// with label, type, value and checked beside its fields.
type state struct {
	URL        string    `json:"url"`
	Title      string    `json:"title"`
	Tabs       []tabInfo `json:"tabs"`
	Elements   []element `json:"interactive_elements"`
	More       string    `json:"more_elements,omitempty"`
	Viewport   extent    `json:"viewport"`
	Page       extent    `json:"page"`
	Scroll     position  `json:"scroll"`
	Screenshot *extent   `json:"screenshot_dimensions,omitempty"`
}

type tabInfo struct {
	ID    string `json:"tab_id"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

type element struct {
	Index       int    `json:"index"`
	Tag         string `json:"tag"`
	Text        string `json:"text"`
	Label       string `json:"label,omitempty"`
	Type        string `json:"type,omitempty"`
	Value       string `json:"value,omitempty"`
	Checked     bool   `json:"checked,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
	Href        string `json:"href,omitempty"`
}

type extent struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

type position struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// The limits of a state.
const (
	maxElements = 300
	maxText     = 100  // characters of an element's text, as in the reference
	maxAddress  = 500  // characters of an address
	beyond      = 1000 // pixels above and below the window whose elements are listed, as in the reference
)

// describe adds the page's elements and measures to a state, and returns the indices.
func (s *snapshot) describe(to *state) map[int]bool {
	to.Viewport = extent{width, height}
	to.Page = extent{int(s.width), int(s.height)}
	to.Scroll = position{int(s.scrollX), int(s.scrollY)}
	found, above, below := s.interactive()
	if over := len(found) - maxElements; over > 0 {
		found = found[:maxElements]
		below += over
	}
	if above+below > 0 {
		to.More = fmt.Sprintf("%d above and %d below are not listed; scroll to see them", above, below)
	}
	labels := map[string]string{}
	s.root.each(func(n *node) {
		if id := n.attrs["for"]; n.tag == "label" && id != "" {
			labels[id] = n.words(maxText)
		}
	})
	to.Elements = []element{}
	indices := map[int]bool{}
	for _, n := range found {
		indices[n.id] = true
		to.Elements = append(to.Elements, n.element(labels))
	}
	return indices
}

// each calls f for a node and all below it.
func (n *node) each(f func(*node)) {
	f(n)
	for _, c := range n.children {
		c.each(f)
	}
}

// element describes a node.
func (n *node) element(labels map[string]string) element {
	e := element{
		Index: n.id, Tag: n.tag, Text: n.words(maxText), Checked: n.checked,
		Placeholder: clip(n.attrs["placeholder"], maxText), Href: clip(n.attrs["href"], maxAddress),
	}
	switch n.tag {
	case "input":
		if e.Type = clip(n.attrs["type"], maxText); e.Type != "password" {
			e.Value = clip(n.value, maxText)
		}
	case "textarea":
		e.Text, e.Value = "", clip(n.value, maxText)
	case "select":
		e.Text, e.Value = n.options()
	}
	if e.Text == "" || n.attrs["aria-label"] != "" {
		e.Label = clip(strings.Join(strings.Fields(n.label(labels)), " "), maxText)
	}
	return e
}

// options are the choices of a select, and the present one.
func (n *node) options() (all, present string) {
	var texts []string
	n.each(func(c *node) {
		if c.tag != "option" {
			return
		}
		var b strings.Builder
		c.each(func(t *node) {
			if t.tag == "#text" {
				b.WriteString(t.text)
			}
		})
		text := strings.Join(strings.Fields(b.String()), " ")
		if c.selected {
			present = clip(text, maxText)
		}
		if texts = append(texts, text); len(texts) > 100 {
			texts = texts[:100]
		}
	})
	return clip(strings.Join(texts, " | "), 5*maxText), present
}

// label is the name of an element without text: the one for people who do not see it, or by its picture.
func (n *node) label(labels map[string]string) string {
	for _, name := range []string{"aria-label", "title", "alt"} {
		if text := n.attrs[name]; text != "" {
			return text
		}
	}
	if text := labels[n.attrs["id"]]; text != "" {
		return text
	}
	for up := n.parent; up != nil && up.tag != "#document"; up = up.parent {
		if up.tag == "label" {
			return up.words(maxText)
		}
	}
	found := ""
	for _, c := range n.children {
		c.each(func(c *node) {
			for _, name := range []string{"alt", "aria-label", "title"} {
				if text := c.attrs[name]; found == "" && text != "" {
					found = text
				}
			}
		})
	}
	if found == "" {
		found = n.attrs["name"]
	}
	return found
}

// interactive finds the elements with which a user can do something, in the order of the page; above and below
// count the ones that are too far away to be listed.
func (s *snapshot) interactive() (found []*node, above, below int) {
	var walk func(n *node, hidden, within bool)
	walk = func(n *node, hidden, within bool) {
		hidden = hidden || n.style.opacity == "0"
		file := n.tag == "input" && n.attrs["type"] == "file" // mostly hidden behind a button of the page
		if n.control(within) && (!hidden && n.visible() && n.w > 0 && n.h > 0 || file) {
			within = within || n.whole()
			switch {
			case n.y+n.h < -beyond:
				above++
			case n.y > height+beyond:
				below++
			default:
				found = append(found, n)
			}
		}
		for _, c := range n.children {
			walk(c, hidden, within && c.tag != "#document")
		}
	}
	walk(s.root, false, false)
	return found, above, below
}

// whole reports whether the parts of an element are not listed beside it, unless they are controls themselves.
func (n *node) whole() bool {
	return n.tag == "a" || n.tag == "button" || n.tag == "summary" || n.attrs["role"] == "button" || n.attrs["role"] == "link"
}

var (
	controls = []string{"a", "button", "details", "input", "optgroup", "option", "select", "summary", "textarea"}
	roles    = []string{
		"button", "cell", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
		"radio", "row", "search", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
	}
	handlers = []string{"onclick", "onmousedown", "onmouseup", "onkeydown", "onkeyup", "tabindex"}
)

// control reports whether an element is one with which a user can do something
// (browser_use/dom/serializer/clickable_elements.py). within says that it is a part of a control.
func (n *node) control(within bool) bool {
	if strings.HasPrefix(n.tag, "#") || n.tag == "html" || n.tag == "body" {
		return false
	}
	if _, disabled := n.attrs["disabled"]; disabled || n.attrs["aria-disabled"] == "true" || n.attrs["aria-hidden"] == "true" {
		return false
	}
	switch {
	case n.tag == "label" && n.attrs["for"] != "":
		return false
	case slices.Contains(controls, n.tag):
		return true
	case n.tag == "iframe" || n.tag == "frame":
		return n.w > 100 && n.h > 100
	}
	if edit, ok := n.attrs["contenteditable"]; ok && edit != "false" {
		return true
	}
	if within {
		return false
	}
	if n.clickable || slices.Contains(roles, n.attrs["role"]) {
		return true
	}
	for _, name := range handlers {
		if _, ok := n.attrs[name]; ok {
			return true
		}
	}
	return n.style.cursor == "pointer" && (n.parent == nil || n.parent.style.cursor != "pointer")
}

// clip shortens a text to so many characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}
