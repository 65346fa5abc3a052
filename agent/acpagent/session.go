package acpagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
)

// quiet takes the messages of the SDK: they quote the program, which may name secrets.
var quiet = slog.New(slog.DiscardHandler)

// begin shakes hands with the program and opens its session: the one of the notes, if the program
// can resume it and it has the conversation's history.
func (p *program) begin(ctx context.Context, n *notes, same bool, view []event.Event) error {
	hello := acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "deft", Version: p.a.cfg.Version},
		ClientCapabilities: acp.ClientCapabilities{
			Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		},
	}
	var err error
	if p.info, err = acp.SendRequest[acp.InitializeResponse](p.conn, ctx, acp.AgentMethodInitialize, hello); err != nil {
		return p.startFailed(err)
	}
	if p.info.ProtocolVersion != acp.ProtocolVersionNumber {
		return p.failed(codeInit, fault.New(fault.Unsupported, fmt.Sprintf("%s speaks version %d of the Agent Client Protocol, and Deft version %d", p.a.name(), p.info.ProtocolVersion, acp.ProtocolVersionNumber)))
	}
	if i := p.info.AgentInfo; i != nil {
		n.Name, n.Version = i.Name, i.Version
	}
	if err := p.login(ctx); err != nil {
		return err
	}
	before := *n
	servers, err := p.servers()
	if err != nil {
		return err
	}
	if !same {
		n.Session = ""
	}
	wanted := n.Session
	if id := p.a.cfg.Fields.ResumeSession; id != nil && *id != "" && before.Conversation == "" {
		wanted = acp.SessionId(*id)
	}
	n.Session = ""
	if wanted != "" && (n.Dir == "" || n.Dir == p.a.cfg.Workspace) {
		if err := p.resume(ctx, wanted, servers, n); err != nil {
			return err
		}
	}
	if n.Session == "" {
		if err := p.open(ctx, servers, n); err != nil {
			return err
		}
		p.forgotten = true
		if before.Session != "" || wanted != "" {
			p.why = p.forgot(before.Conversation != "" && !same)
		}
		n.Cost, n.SuffixInstalled = 0, false
		if !same {
			n.Prompted = answeredIn(view)
		}
	}
	p.session, p.cost = n.Session, n.Cost
	n.Conversation, n.Dir = p.a.cfg.Conversation, p.a.cfg.Workspace
	p.chooseModel(ctx, n)
	n.Model, n.ByOption = p.model, p.byOption
	return p.chooseMode(ctx)
}

// startFailed is the failure of a request while the program starts.
func (p *program) startFailed(err error) error {
	if p.gone() {
		p.bury()
		return p.failed(codeInit, fault.New(fault.Unavailable, p.a.name()+" has ended before it was ready").
			Hint("does the command speak the Agent Client Protocol over standard input and output?"))
	}
	return p.requestFailed(codeInit, err)
}

// forgot tells the user that the program does not know the conversation.
func (p *program) forgot(other bool) string {
	who := strings.ToUpper(p.a.name()[:1]) + p.a.name()[1:]
	if other {
		return who + " has begun a new session, since the conversation has taken another way than its own. It was given the messages of this one as text."
	}
	return who + " was started again and cannot resume its session. It was given the messages so far as text; it has to look up files and the output of commands again."
}

// login logs in with the first method for which the conversation has the secret, as the reference
// does. Programs that are logged in already need none.
func (p *program) login(ctx context.Context) error {
	offered := map[string]bool{}
	for _, m := range p.info.AuthMethods {
		if m.Agent != nil {
			offered[m.Agent.Id] = true
		} else if m.EnvVar != nil {
			offered[m.EnvVar.Id] = true
		}
	}
	secrets := p.a.cfg.Secrets(ctx)
	for _, m := range []struct{ id, secret string }{
		{"chat-gpt", "CODEX_AUTH_JSON"}, {"vertex-ai", "GOOGLE_APPLICATION_CREDENTIALS_JSON"},
		{"api-key", "CODEX_API_KEY"}, {"api-key", "OPENAI_API_KEY"}, {"gemini-api-key", "GEMINI_API_KEY"},
	} {
		if !offered[m.id] || secrets[m.secret] == "" {
			continue
		}
		if err := p.conn.SendRequestNoResult(ctx, acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: m.id}); err != nil {
			return p.startFailed(err)
		}
		return nil
	}
	return nil
}

// servers are the MCP servers that the program can use.
func (p *program) servers() ([]acp.McpServer, error) {
	all, err := p.a.cfg.Servers()
	if err != nil {
		return nil, failure(codeInit, fault.Wrap(err, fault.Invalid, "the MCP servers of the agent program"))
	}
	can := p.info.AgentCapabilities.McpCapabilities
	usable := slices.DeleteFunc(all, func(s acp.McpServer) bool { return s.Http != nil && !can.Http || s.Sse != nil && !can.Sse })
	if dropped := len(all) - len(usable); dropped > 0 {
		p.a.cfg.Log.Warn("the agent program cannot use remote MCP servers", "left_out", dropped)
	}
	if usable == nil {
		usable = []acp.McpServer{}
	}
	return usable, nil
}

// resume opens a session again, as far as the program offers that. A session that it does not know
// any more is none.
func (p *program) resume(ctx context.Context, id acp.SessionId, servers []acp.McpServer, n *notes) error {
	var models *acp.SessionModelState
	var options []acp.SessionConfigOption
	var err error
	switch can := p.info.AgentCapabilities; {
	case can.SessionCapabilities.Resume != nil:
		var r acp.ResumeSessionResponse
		r, err = acp.SendRequest[acp.ResumeSessionResponse](p.conn, ctx, acp.AgentMethodSessionResume, acp.ResumeSessionRequest{SessionId: id, Cwd: p.a.cfg.Workspace, McpServers: servers})
		models, options = r.Models, r.ConfigOptions
	case can.LoadSession: // it sends the history, which nobody takes
		var r acp.LoadSessionResponse
		r, err = acp.SendRequest[acp.LoadSessionResponse](p.conn, ctx, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{SessionId: id, Cwd: p.a.cfg.Workspace, McpServers: servers})
		models, options = r.Models, r.ConfigOptions
	default:
		return nil
	}
	var refused *acp.RequestError
	switch {
	case err == nil:
		n.Session = id
		p.readModels(models, options, n)
		return nil
	case ctx.Err() == nil && !p.gone() && errors.As(err, &refused) && refused.Code != authRequired:
		p.a.cfg.Log.Info("the agent program does not resume its session", "err", p.a.cfg.Mask(err.Error()))
		return nil
	}
	return p.startFailed(err)
}

// open begins a session.
func (p *program) open(ctx context.Context, servers []acp.McpServer, n *notes) error {
	r, err := acp.SendRequest[acp.NewSessionResponse](p.conn, ctx, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: p.a.cfg.Workspace, McpServers: servers})
	if err != nil {
		return p.startFailed(err)
	}
	if r.SessionId == "" {
		return p.failed(codeInit, fault.New(fault.Unavailable, p.a.name()+" has begun a session without an id"))
	}
	n.Session, n.Models = r.SessionId, nil
	p.readModels(r.Models, r.ConfigOptions, n)
	return nil
}

// modelOption is the configuration option that chooses the model.
const modelOption = "model"

// readModels takes over which models the session offers.
func (p *program) readModels(state *acp.SessionModelState, options []acp.SessionConfigOption, n *notes) {
	p.model, p.byOption = n.Model, n.ByOption
	for _, o := range options {
		if o.Select == nil || string(o.Select.Id) != modelOption {
			continue
		}
		p.model, p.byOption, n.Models = string(o.Select.CurrentValue), true, []spec.ACPModelInfo{}
		if list := o.Select.Options.Ungrouped; list != nil {
			for _, v := range *list {
				n.Models = append(n.Models, spec.ACPModelInfo{ID: string(v.Value), Name: v.Name, Description: v.Description})
			}
		}
		if groups := o.Select.Options.Grouped; groups != nil {
			for _, g := range *groups {
				for _, v := range g.Options {
					n.Models = append(n.Models, spec.ACPModelInfo{ID: string(v.Value), Name: v.Name, Description: v.Description})
				}
			}
		}
	}
	if state != nil && !p.byOption {
		p.model, n.Models = string(state.CurrentModelId), []spec.ACPModelInfo{}
		for _, m := range state.AvailableModels {
			n.Models = append(n.Models, spec.ACPModelInfo{ID: string(m.ModelId), Name: m.Name, Description: m.Description})
		}
	}
	n.Switches = p.byOption || state != nil || n.Switches
}

// chooseModel has the session use the model of the settings. A program that refuses it keeps its own,
// as in the reference.
func (p *program) chooseModel(ctx context.Context, n *notes) {
	want := p.a.wantedModel()
	if want == "" || want == p.model {
		return
	}
	if err := p.setModel(ctx, want); err != nil {
		p.why = strings.TrimSpace(p.why + "\n" + p.a.name() + " does not take the model " + want + " and keeps its own.")
		p.a.cfg.Log.Info("the agent program does not take the model", "err", p.a.cfg.Mask(err.Error()))
		return
	}
	p.model = want
}

func (p *program) setModel(ctx context.Context, model string) error {
	if p.byOption {
		return p.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetConfigOption, acp.SetSessionConfigOptionRequest{
			ValueId: &acp.SetSessionConfigOptionValueId{SessionId: p.session, ConfigId: modelOption, Value: acp.SessionConfigValueId(model)},
		})
	}
	return p.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetModel, acp.UnstableSetSessionModelRequest{SessionId: p.session, ModelId: acp.UnstableModelId(model)})
}

// chooseMode has the session use the mode of the settings, if they name one. Without it the program
// asks as it usually does, and the conversation's policy answers.
func (p *program) chooseMode(ctx context.Context) error {
	mode := p.a.cfg.Fields.SessionMode
	if mode == nil || *mode == "" {
		return nil
	}
	err := p.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: p.session, ModeId: acp.SessionModeId(*mode)})
	if err != nil {
		return p.startFailed(err)
	}
	return nil
}

// wantedModel is the model that the user has chosen; "" for none.
func (a *Agent) wantedModel() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.model != "" {
		return a.model
	}
	if m := a.cfg.Fields.Model; m != nil {
		return *m
	}
	return ""
}

// SetModel has the program use another model, now if it runs and else when it starts.
func (a *Agent) SetModel(ctx context.Context, model string) error {
	a.mu.Lock()
	p := a.program
	a.mu.Unlock()
	if p != nil && !p.gone() {
		if err := p.setModel(ctx, model); err != nil {
			return p.requestFailed(codePrompt, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = model
	return nil
}
