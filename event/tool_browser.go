package event

import (
	"encoding/json"
	"strings"
)

// BrowserNavigateAction is the input of the browser_navigate tool.
type BrowserNavigateAction struct {
	ActionBase
	URL    string `json:"url"`
	NewTab bool   `json:"new_tab"`
}

// Kind implements [Action].
func (*BrowserNavigateAction) Kind() string { return "BrowserNavigateAction" }

// BrowserClickAction is the input of the browser_click tool.
type BrowserClickAction struct {
	ActionBase
	Index  int  `json:"index"` // of the element, from the browser state
	NewTab bool `json:"new_tab"`
}

// Kind implements [Action].
func (*BrowserClickAction) Kind() string { return "BrowserClickAction" }

// BrowserTypeAction is the input of the browser_type tool.
type BrowserTypeAction struct {
	ActionBase
	Index int    `json:"index"` // of the element, from the browser state
	Text  string `json:"text"`
}

// Kind implements [Action].
func (*BrowserTypeAction) Kind() string { return "BrowserTypeAction" }

// BrowserGetStateAction is the input of the browser_get_state tool.
type BrowserGetStateAction struct {
	ActionBase
	IncludeScreenshot bool `json:"include_screenshot"`
}

// Kind implements [Action].
func (*BrowserGetStateAction) Kind() string { return "BrowserGetStateAction" }

// BrowserGetContentAction is the input of the browser_get_content tool.
type BrowserGetContentAction struct {
	ActionBase
	ExtractLinks  bool `json:"extract_links"`
	StartFromChar int  `json:"start_from_char"` // to page through a long text
}

// Kind implements [Action].
func (*BrowserGetContentAction) Kind() string { return "BrowserGetContentAction" }

// BrowserScrollAction is the input of the browser_scroll tool.
type BrowserScrollAction struct {
	ActionBase
	Direction string `json:"direction"` // "up" or "down"; "down" when absent
}

// Kind implements [Action].
func (*BrowserScrollAction) Kind() string { return "BrowserScrollAction" }

// BrowserGoBackAction is the input of the browser_go_back tool.
type BrowserGoBackAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserGoBackAction) Kind() string { return "BrowserGoBackAction" }

// BrowserListTabsAction is the input of the browser_list_tabs tool.
type BrowserListTabsAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserListTabsAction) Kind() string { return "BrowserListTabsAction" }

// BrowserSwitchTabAction is the input of the browser_switch_tab tool.
type BrowserSwitchTabAction struct {
	ActionBase
	TabID string `json:"tab_id"`
}

// Kind implements [Action].
func (*BrowserSwitchTabAction) Kind() string { return "BrowserSwitchTabAction" }

// BrowserCloseTabAction is the input of the browser_close_tab tool.
type BrowserCloseTabAction struct {
	ActionBase
	TabID string `json:"tab_id"`
}

// Kind implements [Action].
func (*BrowserCloseTabAction) Kind() string { return "BrowserCloseTabAction" }

// BrowserGetStorageAction is the input of the browser_get_storage tool.
type BrowserGetStorageAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserGetStorageAction) Kind() string { return "BrowserGetStorageAction" }

// BrowserSetStorageAction is the input of the browser_set_storage tool.
type BrowserSetStorageAction struct {
	ActionBase
	// StorageState is an object of cookies and local storage, as
	// browser_get_storage returns it.
	StorageState json.RawMessage `json:"storage_state"`
}

// Kind implements [Action].
func (*BrowserSetStorageAction) Kind() string { return "BrowserSetStorageAction" }

// BrowserStartRecordingAction is the input of the browser_start_recording tool.
type BrowserStartRecordingAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserStartRecordingAction) Kind() string { return "BrowserStartRecordingAction" }

// BrowserStopRecordingAction is the input of the browser_stop_recording tool.
type BrowserStopRecordingAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserStopRecordingAction) Kind() string { return "BrowserStopRecordingAction" }

// BrowserObservation is the result of every browser tool.
type BrowserObservation struct {
	ObservationBase
	ScreenshotData    *string `json:"screenshot_data,omitempty"` // a picture in base64, mostly a PNG
	FullOutputSaveDir *string `json:"full_output_save_dir,omitempty"`
}

// Kind implements [Observation].
func (*BrowserObservation) Kind() string { return "BrowserObservation" }

// Picture returns the screenshot as an address with its data; "" for none.
func (o *BrowserObservation) Picture() string {
	if o.ScreenshotData == nil || *o.ScreenshotData == "" {
		return ""
	}
	kind := "image/png"
	if strings.HasPrefix(*o.ScreenshotData, "/9j/") {
		kind = "image/jpeg"
	}
	return "data:" + kind + ";base64," + *o.ScreenshotData
}

// BrowserAction is the reference's base class of the browser tools. No tool
// makes one, but the kind can be decoded there, so it is here.
type BrowserAction struct {
	ActionBase
}

// Kind implements [Action].
func (*BrowserAction) Kind() string { return "BrowserAction" }

// SetDefaults implements [Defaulter].
func (a *BrowserScrollAction) SetDefaults() { a.Direction = "down" }

func init() {
	registerAction[BrowserAction]()
	registerAction[BrowserNavigateAction]()
	registerAction[BrowserClickAction]()
	registerAction[BrowserTypeAction]()
	registerAction[BrowserGetStateAction]()
	registerAction[BrowserGetContentAction]()
	registerAction[BrowserScrollAction]()
	registerAction[BrowserGoBackAction]()
	registerAction[BrowserListTabsAction]()
	registerAction[BrowserSwitchTabAction]()
	registerAction[BrowserCloseTabAction]()
	registerAction[BrowserGetStorageAction]()
	registerAction[BrowserSetStorageAction]()
	registerAction[BrowserStartRecordingAction]()
	registerAction[BrowserStopRecordingAction]()
	registerObservation[BrowserObservation]()
}
