package acpagent

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/tool"
)

// program is the program at work, with its one session.
type program struct {
	a         *Agent
	proc      tool.Process
	files     secretFiles
	conn      *acp.Connection
	lines     *lines
	terminals *terminals
	end       sync.Once
	work      sync.WaitGroup // of messages that may wait for the program

	info      acp.InitializeResponse
	session   acp.SessionId
	model     string  // of the session, as far as it is known
	byOption  bool    // its model is a configuration option
	cost      float64 // of the session so far
	forgotten bool    // the session begins anew, though the conversation does not
	why       string  // of that, for the user

	broken   atomic.Bool  // nothing can be written to it
	flooding atomic.Bool  // it has sent more than can be kept, and is being ended
	active   atomic.Int64 // when it has last sent something, in nanoseconds
	requests atomic.Int32 // of it that are being answered

	mu   sync.Mutex
	turn *turn // nil before the first one
}

// Write implements io.Writer for the connection.
func (p *program) Write(b []byte) (int, error) {
	n, err := p.proc.Write(b)
	if err != nil {
		p.broken.Store(true)
	}
	return n, err
}

// attach makes a turn the one that updates belong to.
func (p *program) attach(u *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = u
	p.active.Store(time.Now().UnixNano())
}

func (p *program) present() *turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turn
}

// silence is how much of a limit on silence is left. Waiting for an answer is no silence.
func (p *program) silence(limit time.Duration) time.Duration {
	if p.requests.Load() > 0 {
		return limit
	}
	return limit - time.Since(time.Unix(0, p.active.Load()))
}

// prompt runs one turn.
func (p *program) prompt(blocks []acp.ContentBlock) (acp.PromptResponse, error) {
	return acp.SendRequest[acp.PromptResponse](p.conn, context.Background(), acp.AgentMethodSessionPrompt, acp.PromptRequest{SessionId: p.session, Prompt: blocks})
}

// cancel asks it to end its turn. It does not wait for a program that reads nothing.
func (p *program) cancel(ctx context.Context) {
	p.work.Go(func() {
		if err := p.conn.SendNotification(ctx, acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: p.session}); err != nil {
			p.a.cfg.Log.Debug("cancel a turn", "err", err)
		}
	})
}

// close ends the program and its terminals.
func (p *program) close() {
	p.end.Do(func() {
		p.lines.close()
		p.terminals.close()
		if err := p.proc.Close(); err != nil {
			p.a.cfg.Log.Info("end the agent program", "err", err)
		}
		if err := p.a.remove(p.files); err != nil {
			p.a.cfg.Log.Info("remove the files with secrets of the agent program", "err", err)
		}
		<-p.conn.Done()
		p.work.Wait()
	})
}

// modelName is the name under which its use is counted.
func (p *program) modelName() string {
	if p.model != "" {
		return p.model
	}
	return "acp-managed"
}

// handle answers the program's messages.
func (p *program) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	p.active.Store(time.Now().UnixNano())
	if method == acp.ClientMethodSessionUpdate {
		defer p.lines.taken()
		p.update(params)
		return nil, nil
	}
	p.requests.Add(1)
	defer func() {
		p.requests.Add(-1)
		p.lines.answered()
		p.active.Store(time.Now().UnixNano())
	}()
	switch method {
	case acp.ClientMethodSessionRequestPermission:
		return answered(ctx, params, p.permission)
	case acp.ClientMethodFsReadTextFile:
		return answered(ctx, params, p.a.read)
	case acp.ClientMethodFsWriteTextFile:
		return answered(ctx, params, p.a.write)
	case acp.ClientMethodTerminalCreate:
		return answered(ctx, params, p.terminals.create)
	case acp.ClientMethodTerminalOutput:
		return answered(ctx, params, p.terminals.output)
	case acp.ClientMethodTerminalWaitForExit:
		return answered(ctx, params, p.terminals.wait)
	case acp.ClientMethodTerminalKill:
		return answered(ctx, params, p.terminals.kill)
	case acp.ClientMethodTerminalRelease:
		return answered(ctx, params, p.terminals.release)
	}
	return nil, acp.NewMethodNotFound(method)
}

// answered decodes a request and gives its answer.
func answered[Q, A any, P interface {
	*Q
	Validate() error
}](ctx context.Context, params json.RawMessage, by func(context.Context, Q) (A, error)) (any, *acp.RequestError) {
	var q Q
	err := json.Unmarshal(params, &q)
	if err == nil {
		err = P(&q).Validate()
	}
	if err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	a, err := by(ctx, q)
	if err != nil {
		return nil, requestError(err)
	}
	return a, nil
}

// update takes news of the session. News in another form than the protocol's is left out: the
// program may be newer.
func (p *program) update(params json.RawMessage) {
	u := p.present()
	if u == nil {
		return // of the history of a session that is loaded
	}
	var n struct {
		Session acp.SessionId   `json:"sessionId"`
		Update  json.RawMessage `json:"update"`
	}
	var kind struct {
		Kind string `json:"sessionUpdate"`
	}
	if json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &kind) != nil || n.Session != p.session {
		return
	}
	var one update
	var err error
	switch kind.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		var piece []byte
		if piece, err = pieceOf(n.Update); err == nil {
			if kind.Kind == "agent_message_chunk" {
				one.text = piece
			} else {
				one.thought = piece
			}
			if len(piece) == 0 {
				return
			}
		}
	case "tool_call", "tool_call_update":
		one.call = &callUpdate{}
		err = json.Unmarshal(n.Update, one.call)
	case "plan":
		var plan acp.Plan
		err = json.Unmarshal(n.Update, &plan)
		if one.plan = plan.Entries; one.plan == nil {
			one.plan = []acp.PlanEntry{}
		}
	case "usage_update":
		one.usage = &acp.SessionUsageUpdate{}
		err = json.Unmarshal(n.Update, one.usage)
	default:
		return // modes, commands: the conversation has no use for them
	}
	if err != nil {
		p.a.cfg.Log.Info("an update of the agent program cannot be read", "kind", kind.Kind, "err", err)
		return
	}
	if !u.push(one, len(params)) {
		p.overflow()
	}
}

// overflow ends a program that sends more than can be kept.
func (p *program) overflow() {
	p.a.cfg.Log.Warn("the agent program sends more than can be taken; it is ended")
	p.flooding.Store(true)
	go p.close()
}

// pieceOf is the text of an update that brings a piece of one. A piece may end inside a character.
func pieceOf(raw json.RawMessage) ([]byte, error) {
	var piece struct {
		Content struct {
			Type string       `json:"type"`
			Text pieces.Piece `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &piece) == nil && piece.Content.Type == "text" {
		return []byte(piece.Content.Text), nil
	}
	var chunk acp.ContentChunk
	err := json.Unmarshal(raw, &chunk)
	return []byte(textOf(chunk.Content)), err
}

// textOf is the text of a block, or a word for a block of another kind.
func textOf(b acp.ContentBlock) string {
	switch {
	case b.Text != nil:
		return b.Text.Text
	case b.ResourceLink != nil:
		return "[" + b.ResourceLink.Name + "](" + b.ResourceLink.Uri + ")"
	case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
		return b.Resource.Resource.TextResourceContents.Text
	case b.Image != nil:
		return "(an image)"
	case b.Audio != nil:
		return "(a sound)"
	}
	return ""
}

// permission asks for a permission, and waits for the answer.
func (p *program) permission(ctx context.Context, r permissionRequest) (acp.RequestPermissionResponse, error) {
	u := p.present()
	if u == nil || r.Session != p.session {
		return acp.RequestPermissionResponse{Outcome: cancelled()}, nil
	}
	q := &question{call: r.Call, options: r.Options, answer: make(chan acp.RequestPermissionOutcome, 1)}
	if !u.push(update{question: q}, q.call.size()) {
		return acp.RequestPermissionResponse{Outcome: cancelled()}, nil
	}
	select {
	case outcome := <-q.answer:
		return acp.RequestPermissionResponse{Outcome: outcome}, nil
	case <-ctx.Done():
		return acp.RequestPermissionResponse{Outcome: cancelled()}, nil
	}
}

// permissionRequest is acp.RequestPermissionRequest with the parts of the call as they were sent.
type permissionRequest struct {
	Session acp.SessionId          `json:"sessionId"`
	Call    callUpdate             `json:"toolCall"`
	Options []acp.PermissionOption `json:"options"`
}

// Validate reports a missing part.
func (r *permissionRequest) Validate() error {
	if r.Call.ID == "" || len(r.Options) == 0 {
		return errIncomplete
	}
	return nil
}
