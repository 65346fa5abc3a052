package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Name is the name of the set.
const Name = "browser_tool_set"

//go:embed browser.md
var texts string

// parts are the guidance of the set, under "", and the descriptions of its tools, by their names.
var parts = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for i, part := range strings.Split(texts, "\n## ") {
		name, text, _ := strings.Cut(part, "\n")
		if i == 0 {
			name, text = "", part
		}
		all[strings.TrimSpace(name)] = strings.TrimSpace(text)
	}
	return all
})

// one describes a tool of the set (docs/openhands/tools.md section 2).
type one struct {
	name  string
	class string // in the middle of the kinds: Browser…Action
	hints event.Annotations
	args  []tool.Property
	parse func(json.RawMessage) (event.Action, error)
}

var (
	reads   = event.Annotations{ReadOnly: true, Idempotent: true}
	looks   = event.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
	acts    = event.Annotations{OpenWorld: true}
	changes = event.Annotations{Destructive: true}
)

var index = tool.Property{Name: "index", Type: "integer", Required: true, Description: "The index of the element in the last browser_get_state."}

var set = []one{
	{"browser_navigate", "Navigate", acts, []tool.Property{
		{Name: "url", Type: "string", Required: true, Description: "The address to open."},
		{Name: "new_tab", Type: "boolean", Description: "Open it in a new tab; false when absent."},
	}, tool.DecodeInto[event.BrowserNavigateAction]},
	{"browser_click", "Click", acts, []tool.Property{
		index,
		{Name: "new_tab", Type: "boolean", Description: "Open the link in a new tab; false when absent."},
	}, atLeastZero[event.BrowserClickAction]("index", func(a *event.BrowserClickAction) int { return a.Index })},
	{"browser_get_state", "GetState", looks, []tool.Property{
		{Name: "include_screenshot", Type: "boolean", Description: "Show a picture of the page, too; false when absent."},
	}, tool.DecodeInto[event.BrowserGetStateAction]},
	{"browser_get_content", "GetContent", looks, []tool.Property{
		{Name: "extract_links", Type: "boolean", Description: "Write the addresses of links; false when absent."},
		{Name: "start_from_char", Type: "integer", Description: "The character to begin with, to page through a long text; 0 when absent."},
	}, atLeastZero[event.BrowserGetContentAction]("start_from_char", func(a *event.BrowserGetContentAction) int { return a.StartFromChar })},
	{"browser_type", "Type", acts, []tool.Property{
		index,
		{Name: "text", Type: "string", Required: true, Description: "The text, the choice of a list, or the path of a file."},
	}, atLeastZero[event.BrowserTypeAction]("index", func(a *event.BrowserTypeAction) int { return a.Index })},
	{"browser_scroll", "Scroll", acts, []tool.Property{
		{Name: "direction", Type: "string", Enum: []string{"up", "down"}, Description: "down when absent."},
	}, tool.DecodeInto[event.BrowserScrollAction]},
	{"browser_go_back", "GoBack", acts, nil, tool.DecodeInto[event.BrowserGoBackAction]},
	{"browser_list_tabs", "ListTabs", reads, nil, tool.DecodeInto[event.BrowserListTabsAction]},
	{"browser_switch_tab", "SwitchTab", event.Annotations{}, []tool.Property{
		{Name: "tab_id", Type: "string", Required: true, Description: "The four characters of the tab in browser_list_tabs."},
	}, tool.DecodeInto[event.BrowserSwitchTabAction]},
	{"browser_close_tab", "CloseTab", changes, []tool.Property{
		{Name: "tab_id", Type: "string", Required: true, Description: "The four characters of the tab in browser_list_tabs."},
	}, tool.DecodeInto[event.BrowserCloseTabAction]},
	{"browser_get_storage", "GetStorage", reads, nil, tool.DecodeInto[event.BrowserGetStorageAction]},
	{"browser_set_storage", "SetStorage", changes, []tool.Property{
		{Name: "storage_state", Type: "object", Required: true, Description: "An object with cookies and origins, as browser_get_storage writes it."},
	}, tool.DecodeInto[event.BrowserSetStorageAction]},
	{"browser_start_recording", "StartRecording", event.Annotations{}, nil, tool.DecodeInto[event.BrowserStartRecordingAction]},
	{"browser_stop_recording", "StopRecording", event.Annotations{}, nil, tool.DecodeInto[event.BrowserStopRecordingAction]},
}

// atLeastZero decodes an action and checks a number, as the reference does.
func atLeastZero[T any, P interface {
	*T
	event.Action
}](name string, of func(P) int) func(json.RawMessage) (event.Action, error) {
	return func(raw json.RawMessage) (event.Action, error) {
		a, err := tool.DecodeInto[T, P](raw)
		if own, ok := a.(P); ok && of(own) < 0 {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("argument %q must not be negative", name))
		}
		return a, err
	}
}

// Definitions describes the tools of the set, in the reference's order.
func Definitions() []*tool.Definition {
	all := make([]*tool.Definition, len(set))
	for i, o := range set {
		hints := o.hints
		hints.Title = o.name
		all[i] = &tool.Definition{
			Name: o.name, Kind: "Browser" + o.class + "Tool", ActionKind: "Browser" + o.class + "Action", ObservationKind: "BrowserObservation",
			Description: parts()[o.name], Annotations: hints, Parameters: tool.Schema{Properties: o.args}, Guidance: parts()[""],
			Locks: func(event.Action) []string { return []string{"browser"} }, Decode: o.parse,
		}
	}
	return all
}

// Tools registers the set.
var Tools = tool.Registration{
	Name: Name, Description: "Visit web pages with Chromium: read, click, type.",
	Set: Definitions,
	SetShown: []tool.Shown{
		{Action: "BrowserNavigateAction", Deed: tool.Deed{Verb: "Open", Class: "look"}, Subjects: []string{"url"}},
		{Action: "BrowserClickAction", Deed: tool.Deed{Verb: "Click element", Class: "look"}, Subjects: []string{"index"}},
		{Action: "BrowserGetStateAction", Deed: tool.Deed{Verb: "Look at the web page", Class: "look"}},
		{Action: "BrowserGetContentAction", Deed: tool.Deed{Verb: "Read the web page", Class: "look"}},
		{Action: "BrowserTypeAction", Deed: tool.Deed{Verb: "Type", Class: "look"}, Subjects: []string{"text"}},
		{Action: "BrowserScrollAction", Deed: tool.Deed{Verb: "Scroll", Class: "look"}, Subjects: []string{"direction"}},
		{Action: "BrowserGoBackAction", Deed: tool.Deed{Verb: "Go back", Class: "look"}},
		{Action: "BrowserListTabsAction", Deed: tool.Deed{Verb: "List the tabs", Class: "look"}},
		{Action: "BrowserSwitchTabAction", Deed: tool.Deed{Verb: "Show tab", Class: "look"}, Subjects: []string{"tab_id"}},
		{Action: "BrowserCloseTabAction", Deed: tool.Deed{Verb: "Close tab", Class: "look"}, Subjects: []string{"tab_id"}},
		{Action: "BrowserGetStorageAction", Deed: tool.Deed{Verb: "Read cookies and storage", Class: "look"}},
		{Action: "BrowserSetStorageAction", Deed: tool.Deed{Verb: "Set cookies and storage", Class: "look"}},
		{Action: "BrowserStartRecordingAction", Deed: tool.Deed{Verb: "Start a recording", Class: "look"}},
		{Action: "BrowserStopRecordingAction", Deed: tool.Deed{Verb: "Stop the recording", Class: "look"}},
	},
	Kinds: []string{GymActionKind},
	New: func(p tool.Place) (tool.Executor, error) {
		return New(Config{Dir: p.Workspace, Scratch: p.Scratch, Env: p.Env, Command: p.Command, Isolated: p.Isolated}), nil
	},
}
