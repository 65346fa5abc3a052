package browser

import (
	"context"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/domsnapshot"

	"github.com/deft-dev/deft/tool/internal/devtools"
)

// node is a node of a page as it is laid out: an element, a text, or a document.
type node struct {
	tag      string // of an element, in lower case; "#text" and "#document" of others
	text     string // of a text
	attrs    map[string]string
	parent   *node
	children []*node
	id       int // the browser's number of the node

	shown      bool // it has a place on the page; of a text
	x, y, w, h float64
	style      style
	clickable  bool
	checked    bool
	selected   bool
	value      string
}

// style is a part of a node's computed style.
type style struct{ display, visibility, opacity, cursor, space string }

// styles are the names of the properties, in the order of the fields of style.
var styles = []string{"display", "visibility", "opacity", "cursor", "white-space-collapse"}

// snapshot is a page: its documents, frames included, as one tree.
type snapshot struct {
	root             *node
	url, title       string
	width, height    float64 // of the whole page
	scrollX, scrollY float64
}

// capture takes a snapshot of a page.
func (b *chromium) capture(ctx context.Context, t *tab) (*snapshot, error) {
	r, err := ask(ctx, b, t, domsnapshot.CaptureSnapshot, domsnapshot.CaptureSnapshotParams{ComputedStyles: styles})
	if err != nil {
		return nil, err
	}
	if len(r.Documents) == 0 {
		return &snapshot{root: &node{tag: "#document"}}, nil
	}
	nodes := 0
	for _, d := range r.Documents {
		nodes += len(d.Nodes.NodeName)
	}
	if nodes > maxNodes {
		return nil, devtools.ErrTooLong
	}
	roots := make([]*node, len(r.Documents))
	frames := make([]map[int]*node, len(r.Documents)) // the elements that hold a document
	for i, d := range r.Documents {
		roots[i], frames[i] = tree(d, r.Strings)
	}
	join(roots, frames)
	first := r.Documents[0]
	text := func(i domsnapshot.StringIndex) string {
		if i < 0 || int(i) >= len(r.Strings) {
			return ""
		}
		return r.Strings[i]
	}
	s := &snapshot{root: roots[0], url: text(first.DocumentURL), title: text(first.Title), width: first.ContentWidth, height: first.ContentHeight, scrollX: first.ScrollOffsetX, scrollY: first.ScrollOffsetY}
	offsets := make([][2]float64, len(r.Documents))
	for i, d := range r.Documents {
		offsets[i] = [2]float64{d.ScrollOffsetX, d.ScrollOffsetY}
	}
	place(roots[0], roots, offsets, -s.scrollX, -s.scrollY)
	return s, nil
}

// join puts the documents of frames into the elements that hold them.
func join(roots []*node, frames []map[int]*node) {
	for i := range frames {
		for doc, holder := range frames[i] {
			if doc > i && doc < len(roots) { // so that there is no circle
				roots[doc].parent = holder
				holder.children = append(holder.children, roots[doc])
			}
		}
	}
}

// place moves the nodes of a document to where they are in the window.
func place(n *node, roots []*node, offsets [][2]float64, dx, dy float64) {
	n.x, n.y = n.x+dx, n.y+dy
	for _, c := range n.children {
		if i := slices.Index(roots, c); i >= 0 {
			place(c, roots, offsets, n.x-offsets[i][0], n.y-offsets[i][1])
		} else {
			place(c, roots, offsets, dx, dy)
		}
	}
}

// tree makes the nodes of a document.
func tree(d *domsnapshot.DocumentSnapshot, all []string) (root *node, frames map[int]*node) {
	text := func(i int64) string {
		if i < 0 || i >= int64(len(all)) {
			return ""
		}
		return all[i]
	}
	t := d.Nodes
	nodes := make([]node, len(t.NodeName))
	for i := range nodes {
		n := &nodes[i]
		n.tag = strings.ToLower(text(int64(t.NodeName[i])))
		if i < len(t.NodeValue) {
			n.text = text(int64(t.NodeValue[i]))
		}
		if i < len(t.BackendNodeID) {
			n.id = int(t.BackendNodeID[i])
		}
		if i < len(t.Attributes) && len(t.Attributes[i]) > 1 {
			n.attrs = map[string]string{}
			for a := 0; a+1 < len(t.Attributes[i]); a += 2 {
				n.attrs[strings.ToLower(text(t.Attributes[i][a]))] = text(t.Attributes[i][a+1])
			}
		}
		if p := t.ParentIndex[i]; p >= 0 && int(p) < i { // a parent comes before its children
			n.parent = &nodes[p]
			nodes[p].children = append(nodes[p].children, n)
		}
	}
	each := func(r *domsnapshot.RareBooleanData, set func(*node)) {
		if r == nil {
			return
		}
		for _, i := range r.Index {
			if i >= 0 && int(i) < len(nodes) {
				set(&nodes[i])
			}
		}
	}
	each(t.IsClickable, func(n *node) { n.clickable = true })
	each(t.InputChecked, func(n *node) { n.checked = true })
	each(t.OptionSelected, func(n *node) { n.selected = true })
	for _, r := range []*domsnapshot.RareStringData{t.InputValue, t.TextValue} {
		for i := range rare(r, len(nodes)) {
			nodes[r.Index[i]].value = text(int64(r.Value[i]))
		}
	}
	frames = map[int]*node{}
	if r := t.ContentDocumentIndex; r != nil {
		for i, at := range r.Index {
			if i < len(r.Value) && at >= 0 && int(at) < len(nodes) {
				frames[int(r.Value[i])] = &nodes[at]
			}
		}
	}
	layout(d.Layout, nodes, text)
	if len(nodes) == 0 {
		return &node{tag: "#document"}, frames
	}
	return &nodes[0], frames
}

// rare yields the indices of a table that lead to nodes.
func rare(r *domsnapshot.RareStringData, nodes int) func(func(int) bool) {
	return func(yield func(int) bool) {
		if r == nil {
			return
		}
		for i, at := range r.Index {
			if i < len(r.Value) && at >= 0 && int(at) < nodes && !yield(i) {
				return
			}
		}
	}
}

// layout notes where nodes are and how they look.
func layout(l *domsnapshot.LayoutTreeSnapshot, nodes []node, text func(int64) string) {
	if l == nil {
		return
	}
	for i, at := range l.NodeIndex {
		if at < 0 || int(at) >= len(nodes) {
			continue
		}
		n := &nodes[at]
		n.shown = true
		if i < len(l.Bounds) && len(l.Bounds[i]) == 4 {
			n.x, n.y, n.w, n.h = l.Bounds[i][0], l.Bounds[i][1], l.Bounds[i][2], l.Bounds[i][3]
		}
		if i < len(l.Styles) && len(l.Styles[i]) == len(styles) {
			s := l.Styles[i]
			n.style = style{text(s[0]), text(s[1]), text(s[2]), text(s[3]), text(s[4])}
		}
	}
}

// maxNodes bounds the nodes of a page that is read.
const maxNodes = 200_000

// visible reports whether a person can see the node, unless something around it is transparent.
func (n *node) visible() bool {
	if n.tag == "#text" {
		return n.shown && (n.parent == nil || n.parent.style.visibility != "hidden")
	}
	return n.shown && n.style.visibility != "hidden" && n.style.visibility != "collapse" && n.style.opacity != "0"
}

// words is the text of a node in one line, of at most so many characters.
func (n *node) words(most int) string {
	var b strings.Builder
	n.write(&b, 4*most)
	return clip(strings.Join(strings.Fields(b.String()), " "), most)
}

func (n *node) write(b *strings.Builder, most int) {
	switch {
	case b.Len() > most, n.tag == "script", n.tag == "style", n.tag == "#document" && n.parent != nil:
	case n.tag == "#text":
		if n.visible() {
			b.WriteString(n.text)
			b.WriteByte(' ')
		}
	default:
		for _, c := range n.children {
			c.write(b, most)
		}
	}
}
