package executionserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// maxBody is how many bytes a request with JSON may have.
const maxBody = 64 << 20

// known are the actions of the reference (openhands/events/serialization/action.py of
// openhands-ai 0.62); the value says whether its action execution server runs them.
var known = map[string]bool{
	"run": true, "run_ipython": true, "browse": true, "browse_interactive": true, "read": true, "write": true, "edit": true,
	"message": false, "system": false, "call_tool_mcp": false, "delegate": false, "finish": false, "reject": false, "think": false,
	"recall": false, "change_agent_state": false, "condensation": false, "condensation_request": false, "task_tracking": false,
	"loop_recovery": false, "null": false,
}

// action is one of the reference's first generation, with the defaults filled in.
type action struct {
	name    string
	timeout time.Duration // 0: none
	args    arguments
	own     event.Action // of a tool that an executor brings; else nil
}

// arguments are the arguments of all actions that are run.
type arguments struct {
	Command  *string `json:"command"` // of run, and of edit
	IsInput  bool    `json:"is_input"`
	Blocking bool    `json:"blocking"`
	IsStatic bool    `json:"is_static"`
	Cwd      *string `json:"cwd"`
	Hidden   bool    `json:"hidden"`

	Code           *string `json:"code"`
	IncludeExtra   *bool   `json:"include_extra"`
	KernelInitCode string  `json:"kernel_init_code"`

	URL            *string `json:"url"`
	BrowserActions string  `json:"browser_actions"`
	ReturnAxtree   bool    `json:"return_axtree"`

	Path       *string      `json:"path"`
	Content    *string      `json:"content"`
	Start      *int         `json:"start"`
	End        *int         `json:"end"`
	ImplSource string       `json:"impl_source"`
	ViewRange  []int        `json:"view_range"`
	FileText   *string      `json:"file_text"`
	OldStr     *string      `json:"old_str"`
	NewStr     *string      `json:"new_str"`
	InsertLine *flexibleInt `json:"insert_line"`
}

// flexibleInt is a number, or the text of one.
type flexibleInt int

// UnmarshalJSON implements [json.Unmarshaler].
func (n *flexibleInt) UnmarshalJSON(raw []byte) error {
	i, err := strconv.Atoi(string(bytes.Trim(raw, `"`)))
	if err != nil {
		return fmt.Errorf("Invalid insert_line value: '%s'. Expected an integer.", bytes.Trim(raw, `"`)) //nolint:revive,staticcheck // the reference's words
	}
	*n = flexibleInt(i)
	return nil
}

// readBody reads a body within the limit.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// parseAction reads the body of a request for an action, of the reference or of one of
// own tools. Errors are *failure.
func parseAction(raw []byte, own *tool.Set) (action, error) {
	var body struct {
		Action map[string]json.RawMessage `json:"action"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return action{}, invalid("the body is not an object with an action: %v", err)
	}
	if body.Action == nil {
		return action{}, invalid("Field required: body.action")
	}
	internal := func(format string, args ...any) (action, error) {
		return action{}, fail(http.StatusInternalServerError, "Internal server error: "+format, args...)
	}
	given, ok := body.Action["action"]
	if !ok {
		if body.Action["observation"] != nil {
			return internal("400: Invalid action type")
		}
		return internal("Unknown event type")
	}
	var a action
	if err := json.Unmarshal(given, &a.name); err != nil {
		return internal("the action's name is not text")
	}
	runs, ok := known[a.name]
	definition := own.Get(a.name)
	switch {
	case definition != nil:
		var err error
		if a.own, err = parseOwn(own, definition, body.Action["args"]); err != nil {
			return internal("the action has the wrong arguments: %v", err)
		}
	case !ok:
		return internal("'%.100s' is not defined", a.name)
	case !runs:
		return internal("the action %s is not run by an action execution server", a.name)
	}
	if args := body.Action["args"]; args != nil && a.own == nil {
		if err := json.Unmarshal(args, &a.args); err != nil {
			return internal("the action has the wrong arguments: %v", err)
		}
	}
	if t := body.Action["timeout"]; t != nil {
		var seconds *float64
		if err := json.Unmarshal(t, &seconds); err != nil {
			return internal("the action's timeout is not a number")
		}
		if seconds != nil && *seconds > 0 {
			a.timeout = time.Duration(math.Min(*seconds, (24*time.Hour).Seconds()) * float64(time.Second))
		}
	}
	missing := ""
	switch a.name {
	case "run":
		if a.args.Command == nil {
			missing = "command"
		}
	case "run_ipython":
		if a.args.Code == nil {
			missing = "code"
		}
	case "browse":
		if a.args.URL == nil {
			missing = "url"
		}
	case "browse_interactive":
		if a.args.BrowserActions == "" {
			missing = "browser_actions"
		}
	case "write":
		if a.args.Content == nil {
			missing = "content"
		}
		fallthrough
	case "read", "edit":
		if a.args.Path == nil {
			missing = "path"
		}
	}
	if missing != "" {
		return internal("the action has the wrong arguments: missing '%s'", missing)
	}
	if a.args.Blocking && a.timeout == 0 {
		return internal("Blocking command with no timeout set")
	}
	return a, nil
}
