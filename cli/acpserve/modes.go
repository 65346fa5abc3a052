package acpserve

import (
	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
)

// modeTexts are the names and descriptions of the presets, as modes of a session.
var modeTexts = map[security.Preset][2]string{
	security.Never:  {"Never ask", "All actions run in the sandbox without a question."},
	security.Risky:  {"Ask before risky actions", "Actions that look dangerous wait for you."},
	security.Always: {"Always ask", "Every action waits for you."},
}

// modes are the modes of a session. A conversation with a policy of its own has none of them.
func modes(now security.Preset) *acp.SessionModeState {
	m := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(now)}
	for _, name := range security.Presets() {
		text := modeTexts[security.Preset(name)]
		m.AvailableModes = append(m.AvailableModes, acp.SessionMode{Id: acp.SessionModeId(name), Name: text[0], Description: &text[1]})
	}
	if now == "" {
		own := "This conversation has a policy of its own."
		m.CurrentModeId = "own"
		m.AvailableModes = append(m.AvailableModes, acp.SessionMode{Id: "own", Name: "Own policy", Description: &own})
	}
	return m
}

func checkMode(p security.Preset) error {
	if _, ok := modeTexts[p]; !ok {
		return fault.New(fault.Invalid, "there is no mode "+string(p))
	}
	return nil
}
