package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
)

// maxTree is how many characters of an accessibility tree are shown.
const maxTree = 60_000

// axNode is a node of the accessibility tree in the form of BrowserGym: the browser's, with the name that calls use.
type axNode struct {
	*accessibility.Node
	BID string `json:"browsergym_id,omitempty"`
}

// properties are BrowserGym's further properties of an element.
type properties struct {
	Visibility float64    `json:"visibility"`
	Box        [4]float64 `json:"bbox"`
	Clickable  bool       `json:"clickable"`
	Marked     bool       `json:"set_of_marks"`
}

// tree adds the accessibility tree of a page and its frames to an observation.
func (b *chromium) tree(ctx context.Context, t *tab, s *snapshot, o *GymObservation) error {
	further := map[string]properties{}
	found, _, _ := s.interactive()
	for _, n := range found {
		in := n.y < height && n.y+n.h > 0
		p := properties{Box: [4]float64{n.x, n.y, n.w, n.h}, Clickable: true, Marked: in}
		if in {
			p.Visibility = 1
		}
		further[strconv.Itoa(n.id)] = p
	}
	nodes, err := b.accessible(ctx, t)
	if err != nil {
		return err
	}
	w := &treeWriter{nodes: map[accessibility.NodeID]*axNode{}, further: further}
	for i := range nodes {
		n := &nodes[i]
		if role := textOf(n.Role); n.BackendDOMNodeID != 0 && role != "StaticText" && role != "InlineTextBox" {
			n.BID = strconv.Itoa(int(n.BackendDOMNodeID))
		}
		w.nodes[n.NodeID] = n
		for _, p := range n.Properties {
			if p.Name == accessibility.PropertyNameFocused && textOf(p.Value) == "true" && textOf(n.Role) != "RootWebArea" {
				o.Focused = n.BID
			}
		}
	}
	if len(nodes) > 0 {
		w.write(&nodes[0], 0)
	}
	o.Tree = harmless(w.b.String())
	if w.cut {
		o.Tree += fmt.Sprintf("\n[The tree is cut here: it has more than %d characters.]", maxTree)
	}
	if o.Nodes, err = json.Marshal(map[string]any{"nodes": nodes}); err != nil {
		return err
	}
	o.Properties, err = json.Marshal(further)
	return err
}

// accessible reads the tree of a page, and joins those of its frames to it.
func (b *chromium) accessible(ctx context.Context, t *tab) ([]axNode, error) {
	frames, err := ask(ctx, b, t, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	var all []axNode
	var read func(*page.FrameTree) error
	read = func(f *page.FrameTree) error {
		r, err := ask(ctx, b, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: f.Frame.ID})
		if refused(err) && len(all) > 0 {
			return nil // the frame is not there any more
		}
		if err != nil {
			return err
		}
		if len(all) > 0 && len(r.Nodes) > 0 {
			owner, err := ask(ctx, b, t, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.Frame.ID})
			if err != nil && !refused(err) {
				return err
			}
			for i := range all {
				if err == nil && all[i].BackendDOMNodeID == owner.BackendNodeID {
					all[i].ChildIDs = append(all[i].ChildIDs, r.Nodes[0].NodeID)
				}
			}
		}
		for _, n := range r.Nodes {
			all = append(all, axNode{Node: n})
		}
		for _, c := range f.ChildFrames {
			if err := read(c); err != nil {
				return err
			}
		}
		return nil
	}
	return all, read(frames.FrameTree)
}

// textOf is a value as text.
func textOf(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text string
	if json.Unmarshal(v.Value, &text) == nil {
		return text
	}
	return string(v.Value)
}

// treeWriter writes a tree as BrowserGym does: a node a line, indented by tabs.
type treeWriter struct {
	b       strings.Builder
	nodes   map[accessibility.NodeID]*axNode
	further map[string]properties
	cut     bool
}

// silent are the properties that are not written.
var silent = map[accessibility.PropertyName]bool{
	"editable": true, "readonly": true, "level": true, "settable": true, "multiline": true, "invalid": true, "focusable": true,
}

func (w *treeWriter) write(n *axNode, depth int) {
	if w.b.Len() > maxTree || depth > maxDepth {
		w.cut = true
		return
	}
	role, name := textOf(n.Role), textOf(n.Name)
	shown := !n.Ignored && role != "none" && role != "InlineTextBox" && (role != "generic" || w.further[n.BID].Clickable || name != "")
	if shown {
		if w.b.Len() > 0 {
			w.b.WriteByte('\n')
		}
		w.b.WriteString(strings.Repeat("\t", depth))
		if n.BID != "" && role != "RootWebArea" {
			w.b.WriteString("[" + n.BID + "] ")
		}
		fmt.Fprintf(&w.b, "%s %q", role, clip(name, 5*maxText))
		if value := textOf(n.Value); value != "" {
			fmt.Fprintf(&w.b, " value=%q", clip(value, 5*maxText))
		}
		if w.further[n.BID].Clickable {
			w.b.WriteString(", clickable")
		}
		for _, p := range n.Properties {
			switch value := textOf(p.Value); {
			case silent[p.Name] || value == "false" || value == "":
			case value == "true":
				w.b.WriteString(", " + string(p.Name))
			default:
				fmt.Fprintf(&w.b, ", %s=%q", p.Name, clip(value, maxText))
			}
		}
		depth++
	}
	for _, id := range n.ChildIDs {
		if c := w.nodes[id]; c != nil {
			delete(w.nodes, id) // a frame could lead back
			w.write(c, depth)
		}
	}
}
