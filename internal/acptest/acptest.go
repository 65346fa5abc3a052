// Package acptest is a scripted agent program that speaks the Agent Client Protocol with the official
// SDK, for tests of Deft as its client.
//
// # Usage
//
//	if os.Getenv(acptest.Variable) != "" { // a test binary that starts itself
//		acptest.Main(os.Args[1:])
//	}
//
// Each line of a prompt that begins with a known word is an instruction, see the table of steps; the
// program knows its sessions again in another process if it has a directory for them.
//
// # Concurrency and failure
//
// Main does not return. A failure of the protocol is in the text of the answer.
package acptest

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Variable is the environment variable that makes a test binary the program.
const Variable = "DEFT_TEST_ACP"

// agent is the program.
type agent struct {
	acp.Agent
	conn     *acp.AgentSideConnection
	sessions string // directory, "" for none
	name     string
	resume   bool
	auth     bool

	mu    sync.Mutex
	said  map[acp.SessionId][]string // prompts
	calls int
	usd   float64
	model acp.ModelId
	mode  acp.SessionModeId
}

// Main is the program.
func Main(args []string) {
	flags := flag.NewFlagSet("scripted-acp", flag.ExitOnError)
	a := &agent{said: map[acp.SessionId][]string{}, model: "small"}
	flags.StringVar(&a.sessions, "sessions", "", "directory in which sessions are kept")
	flags.BoolVar(&a.resume, "resume", false, "offer session/resume instead of session/load")
	flags.StringVar(&a.name, "name", "scripted", "name of the program")
	flags.BoolVar(&a.auth, "auth", false, "want a login")
	start := flags.String("start", "", "begin with garbage, hang, die, flood or version")
	_ = flags.Parse(args) // it exits
	switch *start {
	case "garbage":
		fmt.Println("Welcome to the agent!\n{not json")
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "die":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(3)
	case "flood":
		fmt.Println(strings.Repeat("x", 20<<20))
	case "version":
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7,"authMethods":[]}}`)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	// The connection reads at once: its messages come when its logger is set and it is the agent's.
	in, messages := io.Pipe()
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, in)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		_, err := io.Copy(messages, os.Stdin)
		_ = messages.CloseWithError(err) // it never fails
	}()
	<-a.conn.Done()
	os.Exit(0)
}

// Initialize implements [acp.Agent].
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	r := acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber, AgentInfo: &acp.Implementation{Name: a.name, Version: "1"}, AuthMethods: []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{LoadSession: a.sessions != "" && !a.resume, PromptCapabilities: acp.PromptCapabilities{Image: true}, McpCapabilities: acp.McpCapabilities{Http: true}},
	}
	if a.resume {
		r.AgentCapabilities.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	return r, nil
}

func (a *agent) state() (*acp.SessionModelState, *acp.SessionModeState) {
	return &acp.SessionModelState{CurrentModelId: a.model, AvailableModels: []acp.ModelInfo{{ModelId: "small", Name: "Small"}, {ModelId: "large", Name: "Large"}}},
		&acp.SessionModeState{CurrentModeId: "ask", AvailableModes: []acp.SessionMode{{Id: "ask", Name: "Ask"}, {Id: "auto", Name: "Auto"}}}
}

// NewSession implements [acp.Agent].
func (a *agent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.auth && os.Getenv("SCRIPTED_KEY") == "" {
		return acp.NewSessionResponse{}, acp.NewAuthRequired("log in first")
	}
	id := acp.SessionId(fmt.Sprintf("session-%d-%d", os.Getpid(), time.Now().UnixNano()))
	a.remember(id, "")
	models, modes := a.state()
	return acp.NewSessionResponse{SessionId: id, Models: models, Modes: modes}, nil
}

// LoadSession implements [acp.AgentLoader].
func (a *agent) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	if err := a.known(r.SessionId); err != nil {
		return acp.LoadSessionResponse{}, err
	}
	for range 2000 { // a long history
		if err := a.update(ctx, r.SessionId, acp.UpdateAgentMessageText("of the history")); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	models, modes := a.state()
	return acp.LoadSessionResponse{Models: models, Modes: modes}, nil
}

// ResumeSession implements [acp.Agent].
func (a *agent) ResumeSession(_ context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	models, modes := a.state()
	return acp.ResumeSessionResponse{Models: models, Modes: modes}, a.known(r.SessionId)
}

func (a *agent) known(id acp.SessionId) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, err := os.ReadFile(filepath.Join(a.sessions, string(id)))
	var prompts []string
	if err != nil || json.Unmarshal(raw, &prompts) != nil {
		return acp.NewInvalidParams("there is no session " + string(id))
	}
	a.said[id] = prompts
	return nil
}

// remember keeps a prompt of a session.
func (a *agent) remember(id acp.SessionId, prompt string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said[id] = append(a.said[id], prompt); prompt == "" {
		a.said[id] = []string{}
	}
	if a.sessions == "" {
		return
	}
	raw, _ := json.Marshal(a.said[id]) // texts encode
	if err := os.WriteFile(filepath.Join(a.sessions, string(id)), raw, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// SetSessionMode implements [acp.Agent].
func (a *agent) SetSessionMode(_ context.Context, r acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = r.ModeId
	return acp.SetSessionModeResponse{}, nil
}

// UnstableSetSessionModel implements [acp.AgentExperimental].
func (a *agent) UnstableSetSessionModel(_ context.Context, r acp.UnstableSetSessionModelRequest) (acp.UnstableSetSessionModelResponse, error) {
	if r.ModelId != "small" && r.ModelId != "large" {
		return acp.UnstableSetSessionModelResponse{}, acp.NewInvalidParams("no such model")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = acp.ModelId(r.ModelId)
	return acp.UnstableSetSessionModelResponse{}, nil
}

// Cancel implements [acp.Agent]. The connection ends the context of the prompt.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *agent) update(ctx context.Context, id acp.SessionId, u acp.SessionUpdate) error {
	return a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: u})
}

// work is one prompt.
type work struct {
	*agent
	ctx  context.Context
	id   acp.SessionId
	resp acp.PromptResponse
}

// Prompt implements [acp.Agent].
func (a *agent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	var text strings.Builder
	for _, b := range r.Prompt {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text + "\n")
		case b.Image != nil:
			text.WriteString("(image " + b.Image.MimeType + ")\n")
		}
	}
	w := &work{agent: a, ctx: ctx, id: r.SessionId, resp: acp.PromptResponse{StopReason: acp.StopReasonEndTurn}}
	prompt := strings.TrimSpace(text.String())
	defer a.remember(r.SessionId, prompt)
	for line := range strings.Lines(prompt) {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		step := steps[word]
		if step == nil {
			continue
		}
		if err := step(w, rest); err != nil {
			if ctx.Err() != nil {
				return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
			}
			return w.resp, err
		}
	}
	return w.resp, nil
}

func (w *work) say(format string, args ...any) error {
	return w.update(w.ctx, w.id, acp.UpdateAgentMessageText(fmt.Sprintf(format, args...)))
}

// call begins a tool call.
func (w *work) call(title string, kind acp.ToolKind, input any, content ...acp.ToolCallContent) (acp.ToolCallId, error) {
	w.mu.Lock()
	w.calls++
	id := acp.ToolCallId(fmt.Sprintf("call-%d", w.calls))
	w.mu.Unlock()
	return id, w.update(w.ctx, w.id, acp.StartToolCall(id, title, acp.WithStartKind(kind), acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartRawInput(input), acp.WithStartContent(content)))
}

// allowed asks for a permission.
func (w *work) allowed(id acp.ToolCallId) (bool, error) {
	r, err := w.conn.RequestPermission(w.ctx, acp.RequestPermissionRequest{SessionId: w.id, ToolCall: acp.ToolCallUpdate{ToolCallId: id}, Options: []acp.PermissionOption{
		{OptionId: "always", Name: "Always", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionId: "yes", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionId: "no", Name: "No", Kind: acp.PermissionOptionKindRejectOnce},
	}})
	if err == nil && r.Outcome.Selected == nil {
		<-w.ctx.Done()
		return false, w.ctx.Err()
	}
	return err == nil && r.Outcome.Selected.OptionId == "yes", err
}

func (w *work) end(id acp.ToolCallId, status acp.ToolCallStatus, content ...acp.ToolCallContent) error {
	return w.update(w.ctx, w.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(status), acp.WithUpdateContent(content)))
}

func textContent(text string) acp.ToolCallContent { return acp.ToolContent(acp.TextBlock(text)) }

// steps are the instructions.
var steps map[string]func(w *work, rest string) error

func init() {
	steps = map[string]func(w *work, rest string) error{
		"say":   func(w *work, rest string) error { return w.say("%s", rest) },
		"think": func(w *work, rest string) error { return w.update(w.ctx, w.id, acp.UpdateAgentThoughtText(rest)) },
		"env":   func(w *work, rest string) error { return w.say("%s is %s", rest, os.Getenv(rest)) },
		"model": func(w *work, _ string) error { return w.say("model %s mode %s", w.model, w.mode) },
		"history": func(w *work, _ string) error {
			w.mu.Lock()
			said := strings.Join(w.said[w.id], " | ")
			w.mu.Unlock()
			return w.say("before: %s", said)
		},
		"prompt": func(w *work, rest string) error { return w.say("%s", rest) },
		"plan": func(w *work, rest string) error {
			var entries []acp.PlanEntry
			for i, title := range strings.Split(rest, "|") {
				status := acp.PlanEntryStatusPending
				if i == 0 {
					status = acp.PlanEntryStatusInProgress
				}
				entries = append(entries, acp.PlanEntry{Content: title, Priority: acp.PlanEntryPriorityMedium, Status: status})
			}
			return w.update(w.ctx, w.id, acp.UpdatePlan(entries...))
		},
		"cost": func(w *work, rest string) error {
			var more float64
			if _, err := fmt.Sscan(rest, &more); err != nil {
				return err
			}
			w.usd += more
			cached := 3
			w.resp.Usage = &acp.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15, CachedReadTokens: &cached}
			return w.update(w.ctx, w.id, acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{SessionUpdate: "usage_update", Size: 1000, Used: 15, Cost: &acp.Cost{Amount: w.usd, Currency: "USD"}}})
		},
		"run": run, "write": write, "open": open,
		"read": func(w *work, rest string) error {
			got, err := w.conn.ReadTextFile(w.ctx, acp.ReadTextFileRequest{SessionId: w.id, Path: rest})
			if err != nil {
				return w.say("cannot read: %v", err)
			}
			return w.say("%s has %q", filepath.Base(rest), got.Content)
		},
		"ask": func(w *work, rest string) error {
			id, err := w.call(rest, acp.ToolKindFetch, map[string]any{"url": "https://example.com"})
			if err != nil {
				return err
			}
			ok, err := w.allowed(id)
			if err != nil {
				return err
			}
			return w.say("%s allowed: %v", rest, ok)
		},
		"wait": func(w *work, _ string) error { <-w.ctx.Done(); return w.ctx.Err() },
		"ignore": func(w *work, _ string) error { // goes on after the cancel
			<-w.ctx.Done()
			w.ctx = context.WithoutCancel(w.ctx)
			return nil
		},
		"deaf": func(*work, string) error { select {} },
		"die": func(_ *work, rest string) error {
			if rest != "silently" {
				fmt.Fprintln(os.Stderr, cmp.Or(rest, "panic: out of cheese"))
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		},
		"garbage": func(w *work, rest string) error {
			_, err := os.Stdout.WriteString(cmp.Or(rest, "this is no JSON") + "\n{\"jsonrpc\":\"2.0\",\"method\":\"unknown/news\"}\n")
			return err
		},
		"raw": func(w *work, rest string) error { // an update as it is
			_, err := os.Stdout.WriteString(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + string(w.id) + `","update":` + rest + "}}\n")
			return err
		},
		"large": func(w *work, rest string) error { // a call without an end, of 8 MB
			_, err := w.call(rest, acp.ToolKindOther, strings.Repeat("x", 8<<20))
			return err
		},
		"crowd": func(w *work, rest string) error { // terminals at once
			n := 0
			if _, err := fmt.Sscan(rest, &n); err != nil {
				return err
			}
			var opened atomic.Int32
			var work sync.WaitGroup
			for range n {
				work.Go(func() {
					if _, err := w.conn.CreateTerminal(w.ctx, acp.CreateTerminalRequest{SessionId: w.id, Command: "sleep 600"}); err == nil {
						opened.Add(1)
					}
				})
			}
			work.Wait()
			return w.say("%d opened", opened.Load())
		},
		"fail": func(_ *work, rest string) error {
			return &acp.RequestError{Code: -32603, Message: "Internal error", Data: map[string]any{"details": rest}}
		},
		"stop": func(w *work, rest string) error { w.resp.StopReason = acp.StopReason(rest); return nil },
		"many": func(w *work, rest string) error {
			n := 0
			if _, err := fmt.Sscan(rest, &n); err != nil {
				return err
			}
			for range n {
				if err := w.say("x"); err != nil {
					return err
				}
			}
			return nil
		},
		"leave": func(w *work, rest string) error { // a call without an end
			_, err := w.call(rest, acp.ToolKindOther, nil)
			return err
		},
	}
}

// run asks for a command and runs it in a terminal.
func run(w *work, rest string) error {
	id, err := w.call("`"+rest+"`", acp.ToolKindExecute, map[string]any{"command": rest})
	if err != nil {
		return err
	}
	ok, err := w.allowed(id)
	if err != nil {
		return err
	}
	if !ok {
		return w.end(id, acp.ToolCallStatusFailed, textContent("refused"))
	}
	term, err := w.conn.CreateTerminal(w.ctx, acp.CreateTerminalRequest{SessionId: w.id, Command: "sh", Args: []string{"-c", rest}})
	if err != nil {
		return w.end(id, acp.ToolCallStatusFailed, textContent(err.Error()))
	}
	if err := w.update(w.ctx, w.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolTerminalRef(term.TerminalId)}))); err != nil {
		return err
	}
	exit, err := w.conn.WaitForTerminalExit(w.ctx, acp.WaitForTerminalExitRequest{SessionId: w.id, TerminalId: term.TerminalId})
	if err != nil {
		return err
	}
	out, err := w.conn.TerminalOutput(w.ctx, acp.TerminalOutputRequest{SessionId: w.id, TerminalId: term.TerminalId})
	if err != nil {
		return err
	}
	if _, err := w.conn.ReleaseTerminal(w.ctx, acp.ReleaseTerminalRequest{SessionId: w.id, TerminalId: term.TerminalId}); err != nil {
		return err
	}
	if err := w.update(w.ctx, w.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateRawOutput(map[string]any{"output": out.Output}))); err != nil {
		return err
	}
	code := -1
	if exit.ExitCode != nil {
		code = *exit.ExitCode
	}
	return w.say("it said %q (%d)", strings.TrimSpace(out.Output), code)
}

// write asks for a new file and writes it: write PATH TEXT.
func write(w *work, rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	diff := acp.ToolDiffContent(path, text+"\n")
	id, err := w.call("Write "+filepath.Base(path), acp.ToolKindEdit, map[string]any{"file_path": path}, diff)
	if err != nil {
		return err
	}
	ok, err := w.allowed(id)
	if err != nil {
		return err
	}
	if !ok {
		return w.end(id, acp.ToolCallStatusFailed, textContent("refused"))
	}
	if _, err := w.conn.WriteTextFile(w.ctx, acp.WriteTextFileRequest{SessionId: w.id, Path: path, Content: text + "\n"}); err != nil {
		return w.end(id, acp.ToolCallStatusFailed, textContent(err.Error()))
	}
	return w.end(id, acp.ToolCallStatusCompleted, diff)
}

// open starts a command without asking, and does not wait: open COMMAND.
func open(w *work, rest string) error {
	_, err := w.conn.CreateTerminal(w.ctx, acp.CreateTerminalRequest{SessionId: w.id, Command: rest})
	if err != nil {
		return w.say("no terminal: %v", err)
	}
	return w.say("opened")
}
