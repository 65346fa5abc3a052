package event_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

// The kinds of docs/openhands/sdk-wire.md sections 7 and 8 and
// docs/openhands/sdk-wire-1.58.md sections B.5 and B.6, and those that only the
// reference's code has: BrowserAction and tom_consult.
const (
	eventKinds = `ACPToolCallEvent ActionEvent AgentErrorEvent Condensation CondensationRequest
		CondensationSummaryEvent ConversationErrorEvent ConversationStateUpdateEvent HookExecutionEvent
		InterruptEvent LLMCompletionLogEvent MessageEvent ObservationEvent PauseEvent SecurityAnalysisEvent
		ServerErrorEvent StreamingDeltaEvent SystemPromptEvent TokenEvent UserRejectObservation`
	actionKinds = `ApplyPatchAction AskOracleAction BrowserAction BrowserClickAction BrowserCloseTabAction
		BrowserGetContentAction BrowserGetStateAction BrowserGetStorageAction BrowserGoBackAction
		BrowserListTabsAction BrowserNavigateAction BrowserScrollAction BrowserSetStorageAction
		BrowserStartRecordingAction BrowserStopRecordingAction BrowserSwitchTabAction BrowserTypeAction
		ClassifyAndSwitchLLMAction ConsultTomAction DelegateAction EditAction FileEditorAction FinishAction
		GlobAction GrepAction InvokeSkillAction ListDirectoryAction MCPToolAction PlanningFileEditorAction
		ReadFileAction SleeptimeComputeAction StartChildConversationAction SwitchLLMAction TaskAction
		TaskTrackerAction TerminalAction ThinkAction VisionInspectAction WorkflowAction WriteFileAction`
	observationKinds = `ApplyPatchObservation AskOracleObservation BrowserObservation
		ClassifyAndSwitchLLMObservation ClientToolObservation ConsultTomObservation DelegateObservation
		EditObservation FileEditorObservation FinishObservation GlobObservation GrepObservation
		InvokeSkillObservation ListDirectoryObservation MCPToolObservation PlanningFileEditorObservation
		ReadFileObservation SleeptimeComputeObservation StartChildConversationObservation
		SwitchLLMObservation TaskObservation TaskTrackerObservation TerminalObservation ThinkObservation
		VisionInspectObservation WorkflowObservation WriteFileObservation`
)

func TestRegisteredKinds(t *testing.T) {
	t.Parallel()
	for _, union := range []struct {
		name, want string
		got        []string
	}{
		{"events", eventKinds, event.EventKinds()},
		{"actions", actionKinds, event.ActionKinds()},
		{"observations", observationKinds, event.ObservationKinds()},
	} {
		// The test binary registers kinds of its own, too.
		got := slices.DeleteFunc(union.got, func(k string) bool { return strings.HasPrefix(k, "Test") })
		if diff := cmp.Diff(strings.Fields(union.want), got); diff != "" {
			t.Errorf("%s (-spec +registered):\n%s", union.name, diff)
		}
	}
}

// Every kind has a golden file, and every golden file a kind. ServerErrorEvent
// is defined by the reference's server, not by its SDK.
func TestGoldenFilesCoverKinds(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join("testdata", "golden"))
	must.Succeed(t, err)
	got := []string{"ServerErrorEvent"}
	for _, e := range entries {
		got = append(got, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(got)
	want := strings.Fields(eventKinds + " " + actionKinds + " " + observationKinds)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-kinds +golden files):\n%s", diff)
	}
}

func TestQualifiedKind(t *testing.T) {
	t.Parallel()
	for _, kind := range event.EventKinds() {
		qualified := event.QualifiedKind(kind)
		if !strings.HasPrefix(qualified, "openhands.") || !strings.HasSuffix(qualified, "."+kind) {
			t.Errorf("QualifiedKind(%s) = %q", kind, qualified)
		}
		if got := event.ShortKind(qualified); got != kind {
			t.Errorf("ShortKind(%q) = %q", qualified, got)
		}
		if got := event.ShortKind(kind); got != kind {
			t.Errorf("ShortKind(%q) = %q", kind, got)
		}
	}
}

// The reference itself says in which module a kind is. It defines
// ServerErrorEvent in its server, which the SDK's classes do not show.
func TestQualifiedKindsOfReference(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "modules.json"))
	must.Succeed(t, err)
	want := map[string]string{"ServerErrorEvent": "openhands.agent_server.models"}
	must.Succeed(t, json.Unmarshal(raw, &want))
	got := make(map[string]string)
	for _, kind := range event.EventKinds() {
		got[kind] = strings.TrimSuffix(event.QualifiedKind(kind), "."+kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-reference +ours):\n%s", diff)
	}
}

func TestShortKindOfOthers(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", ".", "x.MessageEvent", "openhands.sdk.event.MessageEvent", "Nothing", "a.b.Nothing"} {
		if got := event.ShortKind(s); got != s {
			t.Errorf("ShortKind(%q) = %q, want it unchanged", s, got)
		}
	}
	if got := event.QualifiedKind("Nothing"); got != "Nothing" {
		t.Errorf("QualifiedKind(Nothing) = %q", got)
	}
}
