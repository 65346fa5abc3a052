package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"github.com/deft-dev/deft/tool/internal/devtools"
)

// object is an element of a page that functions are called on.
type object struct {
	b    *chromium
	tab  *tab
	node cdp.BackendNodeID
	id   runtime.RemoteObjectID
}

// element finds the element with an index of the state that was shown last.
func (b *chromium) element(ctx context.Context, t *tab, index int) (*object, error) {
	b.mu.Lock()
	known, listed := t.elements != nil, t.elements[index]
	b.mu.Unlock()
	switch {
	case !known:
		return nil, refusal(fmt.Sprintf("Element with index %d not found: the page is another one since the last browser_get_state. Call that first.", index))
	case !listed:
		return nil, refusal(fmt.Sprintf("Element with index %d not found: the last browser_get_state does not list it. Call that again, or scroll.", index))
	}
	return b.node(ctx, t, cdp.BackendNodeID(index))
}

// node returns a node by the browser's number.
func (b *chromium) node(ctx context.Context, t *tab, id cdp.BackendNodeID) (*object, error) {
	r, err := ask(ctx, b, t, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ObjectGroup: objects})
	if refused(err) {
		return nil, refusal(fmt.Sprintf("Element with index %d not found: it is not on the page any more. Call browser_get_state again.", id))
	}
	if err != nil {
		return nil, err
	}
	return &object{b, t, id, r.Object.ObjectID}, nil
}

// objects is the group of the objects of one action, which are released together.
const objects = "deft"

// refused reports whether the browser has refused a command.
func refused(err error) bool {
	_, ok := errors.AsType[*devtools.Error](err)
	return ok
}

// call calls a function on the element and decodes its result.
func (o *object) call(ctx context.Context, function string, result any, args ...any) error {
	yes := true
	p := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: o.id, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes}
	for _, a := range args {
		raw, err := json.Marshal(a)
		if err != nil {
			return err
		}
		p.Arguments = append(p.Arguments, &runtime.CallArgument{Value: jsonv2.Value(raw)})
	}
	r, err := ask(ctx, o.b, o.tab, runtime.CallFunctionOn, p)
	if err != nil {
		return err
	}
	if r.ExceptionDetails != nil {
		return refusal("The page's own code has failed: " + quoted(r.ExceptionDetails.Text))
	}
	if result == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// middle scrolls to the element and returns the middle of its largest part in the window; false if it has none.
func (o *object) middle(ctx context.Context) (x, y float64, ok bool, err error) {
	_, err = ask(ctx, o.b, o.tab, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: o.node})
	if err != nil && !refused(err) {
		return 0, 0, false, err
	}
	r, err := ask(ctx, o.b, o.tab, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: o.node})
	if err != nil {
		if refused(err) {
			err = nil
		}
		return 0, 0, false, err
	}
	best := 0.0
	for _, q := range r.Quads {
		if len(q) != 8 {
			continue
		}
		left, right := within(min(q[0], q[2], q[4], q[6]), width), within(max(q[0], q[2], q[4], q[6]), width)
		top, bottom := within(min(q[1], q[3], q[5], q[7]), height), within(max(q[1], q[3], q[5], q[7]), height)
		if area := (right - left) * (bottom - top); area > best {
			best, x, y, ok = area, (left+right)/2, (top+bottom)/2, true
		}
	}
	return x, y, ok, nil
}

func within(v float64, most float64) float64 { return max(0, min(v, most)) }

// covering returns a short name of the element that lies over a point of this one, "" for none. In frames it cannot
// be known.
const covering = `function(x, y) {
	if (this.ownerDocument !== document || window !== window.top) return '';
	let e = document.elementFromPoint(x, y);
	while (e && e.shadowRoot && e.shadowRoot.elementFromPoint(x, y) && e.shadowRoot.elementFromPoint(x, y) !== e) e = e.shadowRoot.elementFromPoint(x, y);
	if (!e || e === this || this.contains(e) || e.contains(this)) return '';
	for (const l of this.labels || []) if (l.contains(e)) return '';
	for (let r = this.getRootNode(); r.host; r = r.host.getRootNode()) if (e === r.host) return '';
	return '<' + e.tagName.toLowerCase() + (e.id ? ' id=' + e.id : '') + '>';
}`

// click clicks on an element as a mouse does. One that another covers gets the click by script.
func (o *object) click(ctx context.Context) (note string, err error) {
	x, y, ok, err := o.middle(ctx)
	if err != nil {
		return "", err
	}
	over := ""
	if ok {
		if err := o.call(ctx, covering, &over, x, y); err != nil {
			return "", err
		}
	}
	if !ok || over != "" {
		note = "The element is not visible, so it got the click by script."
		if over != "" {
			note = "The element is covered by another one, " + quoted(over) + ", so it got the click by script."
		}
		return note, o.call(ctx, `function() { this.click() }`, nil)
	}
	return "", o.b.press(ctx, o.tab, x, y, input.MouseButtonLeft, 1)
}

// press presses and releases a button of the mouse.
func (b *chromium) press(ctx context.Context, t *tab, x, y float64, button input.MouseButton, count int64) error {
	for _, p := range []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y},
		{Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: buttons[button], ClickCount: count},
		{Type: input.DispatchMouseEventTypeMouseReleased, X: x, Y: y, Button: button, ClickCount: count},
	} {
		if _, err := ask(ctx, b, t, input.DispatchMouseEvent, p); err != nil {
			return err
		}
	}
	return nil
}

var buttons = map[input.MouseButton]int64{input.MouseButtonLeft: 1, input.MouseButtonRight: 2, input.MouseButtonMiddle: 4}

// kind says which values an element takes.
type kind struct {
	Tag      string `json:"tag"`
	Type     string `json:"type"`
	Editable bool   `json:"editable"`
	ReadOnly bool   `json:"readOnly"`
}

const kindOf = `function() {
	return {tag: this.tagName.toLowerCase(), type: (this.type || '').toLowerCase(), editable: this.isContentEditable,
		readOnly: !!(this.readOnly || this.disabled)};
}`

// byScript are the types of inputs whose values are no text that is typed.
var byScript = map[string]bool{"date": true, "datetime-local": true, "month": true, "time": true, "week": true, "color": true, "range": true}

// maxKeys is the length of a text that is typed key by key, as some pages want it; a longer one is inserted.
const maxKeys = 200

// fill gives an element a value: text for a field, a choice for a list, a file for a file input.
func (o *object) fill(ctx context.Context, text string) (deed string, err error) {
	var k kind
	if err := o.call(ctx, kindOf, &k); err != nil {
		return "", err
	}
	switch {
	case k.Tag == "input" && k.Type == "file":
		return o.upload(ctx, text)
	case k.ReadOnly:
		return "", refusal("The element cannot be changed: it is disabled or read-only.")
	case k.Tag == "select":
		return o.choose(ctx, text)
	case k.Tag == "input" && byScript[k.Type]:
		var got string
		if err := o.call(ctx, setValue, &got, text); err != nil {
			return "", err
		}
		if got == "" && text != "" {
			return "", refusal(fmt.Sprintf("%s is no value for an input of the type %s.", quoted(text), k.Type))
		}
		return fmt.Sprintf("Set the value '%s' of", got), nil
	case k.Tag != "input" && k.Tag != "textarea" && !k.Editable:
		return "", refusal("The element takes no text. Choose an input, a textarea or an editable element.")
	}
	if err := o.call(ctx, selectAll, nil); err != nil {
		return "", err
	}
	if text == "" {
		return "Cleared the text of", o.b.key(ctx, o.tab, "Delete")
	}
	return fmt.Sprintf("Typed '%s' into", text), o.b.write(ctx, o.tab, text)
}

// selectAll selects the content of a field, so that the text replaces it.
const selectAll = `function() {
	this.focus();
	if (this.isContentEditable) { const r = document.createRange(); r.selectNodeContents(this); const s = getSelection(); s.removeAllRanges(); s.addRange(r); }
	else this.select();
}`

// setValue sets the value of an input as its page would see it from a user.
const setValue = `function(text) {
	Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, text);
	this.dispatchEvent(new Event('input', {bubbles: true})); this.dispatchEvent(new Event('change', {bubbles: true}));
	return this.value;
}`

// write types a text where the focus is. A line break is the key Enter.
func (b *chromium) write(ctx context.Context, t *tab, text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			if err := b.key(ctx, t, "Enter"); err != nil {
				return err
			}
		}
		if len(text) > maxKeys {
			if part == "" {
				continue
			}
			if _, err := ask(ctx, b, t, input.InsertText, input.InsertTextParams{Text: part}); err != nil {
				return err
			}
			continue
		}
		for _, r := range part {
			if err := b.key(ctx, t, string(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose chooses from a list by the text of a choice, or by its value.
func (o *object) choose(ctx context.Context, text string) (string, error) {
	var r struct {
		Found   bool     `json:"found"`
		Options []string `json:"options"`
	}
	err := o.call(ctx, `function(text) {
		const all = [...this.options], name = o => o.text.trim().replace(/\s+/g, ' '), want = text.trim();
		const o = all.find(o => name(o) === want) || all.find(o => o.value === want) || all.find(o => name(o).toLowerCase() === want.toLowerCase());
		if (!o || o.disabled) return {found: false, options: all.filter(o => !o.disabled).slice(0, 50).map(name)};
		this.focus();
		if (this.multiple) o.selected = true; else this.value = o.value, o.selected = true;
		this.dispatchEvent(new Event('input', {bubbles: true})); this.dispatchEvent(new Event('change', {bubbles: true}));
		return {found: true};
	}`, &r, text)
	if err != nil {
		return "", err
	}
	if !r.Found {
		return "", refusal(fmt.Sprintf("The list has no choice %s. It has: %s", quoted(text), quoted(strings.Join(r.Options, " | "))))
	}
	return fmt.Sprintf("Chose '%s' in", text), nil
}

// upload gives files of the workspace, one path a line, to a file input.
func (o *object) upload(ctx context.Context, text string) (string, error) {
	var files []string
	for path := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if path = strings.TrimSpace(path); !filepath.IsAbs(path) {
			path = filepath.Join(o.b.c.Dir, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return "", refusal(fmt.Sprintf("There is no file %s. Give the path of a file of the workspace.", quoted(path)))
		}
		files = append(files, path)
	}
	if _, err := ask(ctx, o.b, o.tab, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, BackendNodeID: o.node}); err != nil {
		return "", err
	}
	return "Chose the file " + strings.Join(files, ", ") + " for", nil
}
