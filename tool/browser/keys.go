package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
)

// stroke is a key of the keyboard.
type stroke struct {
	code string // its place on the keyboard
	key  int64  // its number under Windows, which pages still read
	text string // that it writes
}

// keys are the keys with names.
var keys = map[string]stroke{
	"Enter": {"Enter", 13, "\r"}, "Tab": {"Tab", 9, ""}, "Backspace": {"Backspace", 8, ""}, "Delete": {"Delete", 46, ""},
	"Escape": {"Escape", 27, ""}, "ArrowLeft": {"ArrowLeft", 37, ""}, "ArrowUp": {"ArrowUp", 38, ""},
	"ArrowRight": {"ArrowRight", 39, ""}, "ArrowDown": {"ArrowDown", 40, ""}, "Home": {"Home", 36, ""}, "End": {"End", 35, ""},
	"PageUp": {"PageUp", 33, ""}, "PageDown": {"PageDown", 34, ""}, "Insert": {"Insert", 45, ""}, "Space": {"Space", 32, " "},
	"Control": {"ControlLeft", 17, ""}, "Shift": {"ShiftLeft", 16, ""}, "Alt": {"AltLeft", 18, ""}, "Meta": {"MetaLeft", 91, ""},
	"F1": {"F1", 112, ""}, "F2": {"F2", 113, ""}, "F3": {"F3", 114, ""}, "F4": {"F4", 115, ""}, "F5": {"F5", 116, ""}, "F6": {"F6", 117, ""},
	"F7": {"F7", 118, ""}, "F8": {"F8", 119, ""}, "F9": {"F9", 120, ""}, "F10": {"F10", 121, ""}, "F11": {"F11", 122, ""}, "F12": {"F12", 123, ""},
}

// modifiers are the keys that change others, with their bits.
var modifiers = map[string]int64{"Alt": 1, "Control": 2, "Ctrl": 2, "ControlOrMeta": 2, "Meta": 4, "Shift": 8}

// strike presses and releases a key: one with a name, a character, or one with modifiers such as "Control+A".
func (b *chromium) key(ctx context.Context, t *tab, name string) error {
	var held int64
	for {
		modifier, rest, ok := strings.Cut(name, "+")
		if bit := modifiers[modifier]; ok && rest != "" && bit != 0 {
			held, name = held|bit, rest
			continue
		}
		break
	}
	s, named := keys[name]
	if !named {
		if utf8.RuneCountInString(name) != 1 {
			return refusal(fmt.Sprintf("There is no key %s.", quoted(name)))
		}
		s = character(name)
	}
	p := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Modifiers: held, Key: name, Code: s.code, WindowsVirtualKeyCode: s.key, Text: s.text, UnmodifiedText: s.text,
	}
	if name == "Space" {
		p.Key = " "
	}
	if held&^8 != 0 {
		p.Text, p.UnmodifiedText = "", ""
	}
	if held == 2 && slices.Contains([]string{"a", "A"}, name) {
		p.Commands = []string{"selectAll"} // the window system would have it done
	}
	if p.Text == "" {
		p.Type = input.DispatchKeyEventTypeRawKeyDown
	}
	if _, err := ask(ctx, b, t, input.DispatchKeyEvent, p); err != nil {
		return err
	}
	p.Type, p.Text, p.UnmodifiedText, p.Commands = input.DispatchKeyEventTypeKeyUp, "", "", nil
	_, err := ask(ctx, b, t, input.DispatchKeyEvent, p)
	return err
}

// character is the key of a character; one that no plain keyboard has is written without one.
func character(c string) stroke {
	switch r := c[0]; {
	case r >= 'a' && r <= 'z':
		return stroke{"Key" + strings.ToUpper(c), int64(r) - 32, c}
	case r >= 'A' && r <= 'Z':
		return stroke{"Key" + c, int64(r), c}
	case r >= '0' && r <= '9':
		return stroke{"Digit" + c, int64(r), c}
	case r == ' ':
		return stroke{"Space", 32, c}
	}
	return stroke{text: c}
}
