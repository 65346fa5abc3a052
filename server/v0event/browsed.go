package v0event

import "encoding/json"

// WebPage is a page after an action of a browser.
type WebPage struct {
	Trigger           string // browse or browse_interactive
	URL, Text         string
	Screenshot, Marks string // addresses with data
	Failed            bool
	Pages             []string
	Active            int
	Nodes, Properties json.RawMessage
	Tree              bool // the client wants the accessibility tree
	Action, Error     string
	Focused           string
}

// Browsed is the result of browse and browse_interactive.
func Browsed(p WebPage) Observation {
	none := json.RawMessage("{}")
	if !p.Tree || p.Nodes == nil {
		p.Nodes, p.Properties = none, none
	}
	if p.Pages == nil {
		p.Pages = []string{}
	}
	return Observation{
		Message: "Visited " + p.URL, Name: "browse", Content: p.Text,
		Extras: map[string]any{
			"url": p.URL, "trigger_by_action": p.Trigger, "screenshot": p.Screenshot, "screenshot_path": nil, "set_of_marks": p.Marks,
			"error": p.Failed, "goal_image_urls": []string{}, "open_pages_urls": p.Pages, "active_page_index": p.Active,
			"dom_object": none, "axtree_object": p.Nodes, "extra_element_properties": p.Properties,
			"last_browser_action": p.Action, "last_browser_action_error": p.Error, "focused_element_bid": p.Focused, "filter_visible_only": false,
		},
	}
}
