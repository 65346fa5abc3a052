package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/runtime"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/internal/browsergym"
)

// GymAction is an action of OpenHands' first generation: a page to open, or calls of BrowserGym. It is the action
// server's; no model is offered it. Its elements are named by the numbers that browser_get_state shows, too.
type GymAction struct {
	event.ActionBase
	URL   string `json:"url"`
	Calls string `json:"calls"`
}

// GymActionKind and GymObservationKind are the kinds of its events.
const (
	GymActionKind      = "BrowserGymAction"
	GymObservationKind = "BrowserGymObservation"
)

// Kind implements [event.Action].
func (*GymAction) Kind() string { return GymActionKind }

// GymObservation is the page after an action, with the fields of the observation browse. Its content is the text of
// the page.
type GymObservation struct {
	event.ObservationBase
	URL        string          `json:"url"`
	Screenshot string          `json:"screenshot"`   // as an address with data
	Marks      string          `json:"set_of_marks"` // the same, with the elements marked
	Pages      []string        `json:"open_pages_urls"`
	Active     int             `json:"active_page_index"`
	Nodes      json.RawMessage `json:"axtree_object"`
	Properties json.RawMessage `json:"extra_element_properties"`
	Tree       string          `json:"axtree"` // as text
	Focused    string          `json:"focused_element_bid"`
	Error      string          `json:"last_browser_action_error"`
}

// Kind implements [event.Observation].
func (*GymObservation) Kind() string { return GymObservationKind }

func init() {
	event.RegisterAction[GymAction]()
	event.RegisterObservation[GymObservation]()
}

// gymNames has, for the sentences of this package, the functions that a model of BrowserGym has in place of tools.
var gymNames = strings.NewReplacer(
	"browser_navigate", "goto(url)", "browser_get_state", "noop()", "browser_type", "upload_file(bid, file)", "browser_close_tab", "tab_close()",
	"the index of the file input", "the bid of the file input",
)

// gym carries out an action of BrowserGym, and adds what there is to say. Its errors are in the observation.
func (b *chromium) gym(ctx context.Context, a *GymAction, note string) (event.Observation, error) {
	o, err := b.gymed(ctx, a)
	b.saved(false)
	notes := slices.DeleteFunc(append(b.noted(), note), func(text string) bool { return text == "" })
	if err != nil {
		return nil, err
	}
	o.Error = gymNames.Replace(o.Error)
	if len(notes) > 0 {
		o.Content = event.Texts(strings.TrimLeft(event.JoinText(o.Content)+"\n"+gymNames.Replace(strings.Join(notes, "\n")), "\n"))
	}
	return o, nil
}

// gymed carries out an action of BrowserGym and looks at the page.
func (b *chromium) gymed(ctx context.Context, a *GymAction) (*GymObservation, error) {
	o := &GymObservation{}
	err := b.perform(ctx, a)
	if err != nil {
		text, err := b.explain(ctx, "", err)
		if err != nil {
			return nil, err
		}
		o.Error, o.IsError = text.text, true
	}
	if b.ended() {
		o.Content = event.Texts("")
		return o, nil
	}
	if err := b.look(ctx, o); err != nil {
		text, err := b.explain(ctx, "", err)
		if err != nil {
			return nil, err
		}
		if !o.IsError {
			o.Error, o.IsError = text.text, true
		}
	}
	return o, nil
}

// look describes the current page, if there is one.
func (b *chromium) look(ctx context.Context, o *GymObservation) error {
	if err := b.refresh(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	t := b.current
	o.Pages, o.Active = []string{}, -1
	for i, one := range b.open() {
		o.Pages = append(o.Pages, clip(one.url, maxAddress))
		if one == t {
			o.Active = i
		}
	}
	b.mu.Unlock()
	o.Content = event.Texts("")
	if t == nil {
		return nil
	}
	s, err := b.capture(ctx, t)
	if err != nil {
		return err
	}
	o.URL = clip(s.url, maxAddress)
	text, _ := pageOf([]rune(s.markdown(false)))
	o.Content = event.Texts(harmless(text))
	if err := b.tree(ctx, t, s, o); err != nil {
		return err
	}
	picture, err := b.screenshot(ctx, t)
	if err != nil {
		return err
	}
	o.Screenshot = address64(picture)
	marks, err := b.marked(ctx, t, s)
	if err == nil {
		o.Marks = address64(marks)
	}
	return err
}

func address64(picture []byte) string {
	data := base64.StdEncoding.EncodeToString(picture)
	return (&event.BrowserObservation{ScreenshotData: &data}).Picture()
}

// marked is a screenshot on which the elements that can be used have frames and numbers.
func (b *chromium) marked(ctx context.Context, t *tab, s *snapshot) ([]byte, error) {
	type rect struct {
		ID         int
		X, Y, W, H float64
	}
	rects := []rect{}
	found, _, _ := s.interactive()
	for _, n := range found {
		if n.y < height && n.y+n.h > 0 && len(rects) < maxElements {
			rects = append(rects, rect{n.id, n.x, n.y, n.w, n.h})
		}
	}
	raw, err := json.Marshal(rects)
	if err != nil {
		return nil, err
	}
	const draw = `(rects => {
		const d = document.createElement('div');
		d.id = 'deft-marks'; d.style.cssText = 'position:fixed;inset:0;z-index:2147483647;pointer-events:none';
		for (const b of rects) {
			const e = d.appendChild(document.createElement('div'));
			e.style.cssText = 'position:absolute;box-sizing:border-box;border:2px solid #d00;left:' + b.X + 'px;top:' + b.Y + 'px;width:' + b.W + 'px;height:' + b.H + 'px';
			const n = e.appendChild(document.createElement('span'));
			n.textContent = b.ID; n.style.cssText = 'position:absolute;left:0;top:0;background:#d00;color:#fff;font:11px sans-serif;padding:0 2px';
		}
		document.documentElement.append(d);
	})`
	if _, err := ask(ctx, b, t, runtime.Evaluate, runtime.EvaluateParams{Expression: draw + "(" + string(raw) + ")"}); err != nil {
		return nil, err
	}
	picture, err := b.screenshot(ctx, t)
	_, after := ask(ctx, b, t, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.getElementById('deft-marks')?.remove()"})
	return picture, errors.Join(err, after)
}

// perform opens the page, or carries out the calls up to the first error.
func (b *chromium) perform(ctx context.Context, a *GymAction) error {
	if a.URL != "" {
		_, err := b.navigate(ctx, a.URL, false)
		return err
	}
	calls, err := browsergym.Parse(a.Calls)
	if err != nil {
		return refusal(err.Error())
	}
	for _, c := range calls {
		do, ok := gymCalls[c.Name]
		if !ok {
			return refusal(fmt.Sprintf("There is no action %s.", quoted(c.Name)))
		}
		g := &gymCall{b: b, Call: c}
		if !do.pageless {
			if g.tab, err = b.shown(); err != nil {
				return err
			}
		}
		b.mu.Lock()
		b.follow = true
		b.mu.Unlock()
		if err = do.run(ctx, g); err == nil {
			err = g.err
		}
		if err != nil {
			return err
		}
		if !do.pageless {
			if err := b.acted(ctx, g.tab); err != nil {
				return err
			}
		}
	}
	return nil
}

// gymCall is a call under way. The first mistake of its arguments is kept.
type gymCall struct {
	browsergym.Call
	b   *chromium
	tab *tab
	err error
}

// arg returns an argument by its place or name.
func arg[T any](g *gymCall, place int, name string, usual ...T) (v T) {
	given, ok := g.Named[name]
	if !ok && place < len(g.Args) {
		given, ok = g.Args[place], true
	}
	if !ok && len(usual) > 0 {
		return usual[0]
	}
	if v, ok = given.(T); !ok && g.err == nil {
		g.err = refusal(fmt.Sprintf("%s needs %s as a %T.", g.Name, name, v))
	}
	return v
}

// element finds the element of the argument bid, or another one.
func (g *gymCall) element(ctx context.Context, place int, name string) (*object, error) {
	bid := arg[string](g, place, name)
	if g.err != nil {
		return nil, g.err
	}
	n, err := strconv.Atoi(bid)
	if err != nil {
		return nil, refusal("There is no element " + quoted(bid) + ".")
	}
	return g.b.node(ctx, g.tab, backend(n))
}

// message is the rest of a call for the user.
func message(context.Context, *gymCall) error { return nil }

// focus is a function of an element.
const focus = `function() { this.focus() }`

// history goes through the history of the tab.
func history(by int) func(context.Context, *gymCall) error {
	return func(ctx context.Context, g *gymCall) error {
		_, err := g.b.history(ctx, by)
		return err
	}
}

// bring shows the tab with an index.
func bring(ctx context.Context, g *gymCall) error {
	at := int(arg[float64](g, 0, "index"))
	g.b.mu.Lock()
	var t *tab
	if open := g.b.open(); at >= 0 && at < len(open) {
		t = open[at]
	}
	g.b.mu.Unlock()
	if g.err != nil || t == nil {
		return errors.Join(g.err, refusal(fmt.Sprintf("There is no tab %d.", at)))
	}
	_, err := g.b.switchTab(ctx, t.name())
	return err
}

func many(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, many(one)...)
		}
		return all
	}
	return nil
}

// modified is a key with the modifiers of an argument.
func modified(list []any) (bits int64) {
	for _, name := range many(list) {
		bits |= modifiers[name]
	}
	return bits
}
