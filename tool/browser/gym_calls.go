package browser

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
)

// backend is a number of a node.
type backend = cdp.BackendNodeID

// gymDeed is a function of BrowserGym.
type gymDeed struct {
	run      func(context.Context, *gymCall) error
	pageless bool // it needs no page, or waits for its own
}

// maxPause bounds noop, whose argument the model chooses.
const maxPause = 10 * time.Second

// gymCalls are the functions of BrowserGym for pages, tabs and the chat (browsergym/core/action/functions.py).
var gymCalls map[string]gymDeed

func init() {
	gymCalls = map[string]gymDeed{ // an init function, since functions of it lead to it
		"noop": {run: func(ctx context.Context, g *gymCall) error {
			pause := time.Duration(arg(g, 0, "wait_ms", 1000.0)) * time.Millisecond
			select {
			case <-time.After(min(pause, maxPause)):
			case <-ctx.Done():
			}
			return nil
		}},
		"send_msg_to_user": {run: message, pageless: true}, "report_infeasible": {run: message, pageless: true},
		"goto": {run: func(ctx context.Context, g *gymCall) error {
			url := arg[string](g, 0, "url")
			if g.err != nil {
				return g.err
			}
			_, err := g.b.navigate(ctx, url, false)
			return err
		}, pageless: true},
		"go_back": {run: history(-1), pageless: true}, "go_forward": {run: history(1), pageless: true},
		"new_tab": {run: func(ctx context.Context, g *gymCall) error {
			_, err := g.b.newTab(ctx)
			return err
		}, pageless: true},
		"tab_focus": {run: bring, pageless: true},
		"tab_close": {run: func(ctx context.Context, g *gymCall) error {
			t, err := g.b.shown()
			if err != nil {
				return err
			}
			_, err = g.b.closeTab(ctx, t.name())
			return err
		}, pageless: true},
		"click":    {run: func(ctx context.Context, g *gymCall) error { return g.click(ctx, 1) }},
		"dblclick": {run: func(ctx context.Context, g *gymCall) error { return g.click(ctx, 2) }},
		"hover": {run: func(ctx context.Context, g *gymCall) error {
			x, y, err := g.middle(ctx, 0, "bid")
			if err != nil {
				return err
			}
			return g.mouse(ctx, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
		}},
		"drag_and_drop": {run: drag},
		"fill":          {run: func(ctx context.Context, g *gymCall) error { return g.fill(ctx, arg[string](g, 1, "value")) }},
		"clear":         {run: func(ctx context.Context, g *gymCall) error { return g.fill(ctx, "") }},
		"select_option": {run: func(ctx context.Context, g *gymCall) error {
			o, err := g.element(ctx, 0, "bid")
			if err != nil {
				return err
			}
			for _, text := range many(arg[any](g, 1, "options")) {
				if _, err := o.choose(ctx, text); err != nil {
					return err
				}
			}
			return nil
		}},
		"upload_file": {run: func(ctx context.Context, g *gymCall) error {
			o, err := g.element(ctx, 0, "bid")
			if err != nil {
				return err
			}
			_, err = o.upload(ctx, strings.Join(many(arg[any](g, 1, "file")), "\n"))
			return err
		}},
		"focus": {run: func(ctx context.Context, g *gymCall) error {
			o, err := g.element(ctx, 0, "bid")
			if err != nil {
				return err
			}
			return o.call(ctx, focus, nil)
		}},
		"press": {run: func(ctx context.Context, g *gymCall) error {
			o, err := g.element(ctx, 0, "bid")
			key := arg[string](g, 1, "key_comb")
			if err == nil {
				err = g.err
			}
			if err != nil {
				return err
			}
			if err := o.call(ctx, focus, nil); err != nil {
				return err
			}
			return g.b.key(ctx, g.tab, key)
		}},
		"keyboard_press":       {run: func(ctx context.Context, g *gymCall) error { return g.b.key(ctx, g.tab, arg[string](g, 0, "key")) }},
		"keyboard_type":        {run: func(ctx context.Context, g *gymCall) error { return g.b.write(ctx, g.tab, arg[string](g, 0, "text")) }},
		"keyboard_insert_text": {run: func(ctx context.Context, g *gymCall) error { return g.b.write(ctx, g.tab, arg[string](g, 0, "text")) }},
		"mouse_move": {run: func(ctx context.Context, g *gymCall) error {
			return g.mouse(ctx, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: arg[float64](g, 0, "x"), Y: arg[float64](g, 1, "y")})
		}},
		"mouse_click": {run: func(ctx context.Context, g *gymCall) error {
			return g.b.press(ctx, g.tab, arg[float64](g, 0, "x"), arg[float64](g, 1, "y"), input.MouseButton(arg(g, 2, "button", "left")), 1)
		}},
		"scroll": {run: func(ctx context.Context, g *gymCall) error {
			p := wheelParams{input.DispatchMouseEventTypeMouseWheel, width / 2, height / 2, arg[float64](g, 0, "delta_x"), arg[float64](g, 1, "delta_y")}
			if g.err != nil {
				return g.err
			}
			_, err := ask(ctx, g.b, g.tab, wheel, p)
			g.b.frames(ctx, g.tab)
			return err
		}},
	}
}

// click clicks on an element, with a button and modifiers.
func (g *gymCall) click(ctx context.Context, count int64) error {
	button, held := arg(g, 1, "button", "left"), modified(arg(g, 2, "modifiers", []any{}))
	o, err := g.element(ctx, 0, "bid")
	if err != nil {
		return err
	}
	if button == "left" && held == 0 && count == 1 {
		_, err := o.click(ctx)
		return err
	}
	x, y, err := g.middle(ctx, 0, "bid")
	if err != nil {
		return err
	}
	for n := range count {
		for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
			p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButton(button), ClickCount: n + 1, Modifiers: held}
			if err := g.mouse(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// middle is the middle of an element that is visible.
func (g *gymCall) middle(ctx context.Context, place int, name string) (x, y float64, err error) {
	o, err := g.element(ctx, place, name)
	if err != nil {
		return 0, 0, err
	}
	x, y, ok, err := o.middle(ctx)
	if err == nil && !ok {
		err = refusal("The element is not visible.")
	}
	return x, y, err
}

func (g *gymCall) mouse(ctx context.Context, p input.DispatchMouseEventParams) error {
	if g.err != nil {
		return g.err
	}
	_, err := ask(ctx, g.b, g.tab, input.DispatchMouseEvent, p)
	return err
}

func (g *gymCall) fill(ctx context.Context, text string) error {
	o, err := g.element(ctx, 0, "bid")
	if err = errors.Join(err, g.err); err != nil {
		return err
	}
	_, err = o.fill(ctx, text)
	return err
}

// drag moves an element onto another one.
func drag(ctx context.Context, g *gymCall) error {
	x, y, err := g.middle(ctx, 0, "from_bid")
	if err != nil {
		return err
	}
	toX, toY, err := g.middle(ctx, 1, "to_bid")
	if err != nil {
		return err
	}
	for _, p := range []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y},
		{Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: (x + toX) / 2, Y: (y + toY) / 2, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: toX, Y: toY, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseReleased, X: toX, Y: toY, Button: input.MouseButtonLeft, ClickCount: 1},
	} {
		if err := g.mouse(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
