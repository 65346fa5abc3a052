package acpserve

import (
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/sgr"
	"github.com/deft-dev/deft/internal/wait"
	"github.com/deft-dev/deft/session"
)

// maxProgress bounds the text that a running call shows, in bytes. Its result has all.
const maxProgress = 16 << 10

// progressPause is the least time between two updates of running calls: each repeats the text.
const progressPause = 200 * time.Millisecond

// progress is the text of running calls: the output of commands, and the work of sub-agents.
type progress struct {
	mu    sync.Mutex
	texts map[acp.ToolCallId]*progressText
}

type progressText struct {
	text  string
	plain bool // words, not output
	news  bool // that were not sent
}

// add adds to the text of a call.
func (p *progress) add(id acp.ToolCallId, text string, plain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts == nil {
		p.texts = map[acp.ToolCallId]*progressText{}
	}
	one := p.texts[id]
	if one == nil {
		one = &progressText{plain: plain}
		p.texts[id] = one
	}
	one.text, one.news = one.text+text, true
	if over := len(one.text) - maxProgress; over > 0 {
		one.text = strings.ToValidUTF8(one.text[over:], "")
		if _, rest, ok := strings.Cut(one.text, "\n"); ok {
			one.text = "…\n" + rest
		}
	}
}

// end forgets a call that has ended.
func (p *progress) end(id acp.ToolCallId) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.texts, id)
}

// take returns the updates of calls that run. Others wait.
func (p *progress) take(runs func(acp.ToolCallId) bool) (out []acp.SessionUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, one := range p.texts {
		if !one.news || !runs(id) {
			continue
		}
		one.news = false
		text := one.text
		if !one.plain {
			text = fenced(text)
		}
		out = append(out, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateContent(textContent(text))))
	}
	return out
}

// output takes output of a running command. It does not block.
func (f *feed) output(o session.Output) {
	f.progress.add(acp.ToolCallId(o.Action), sgr.Strip(o.Text), false)
	select {
	case f.stirred <- struct{}{}:
	default:
	}
}

// showProgress sends the progress of calls until the feed ends.
func (f *feed) showProgress() {
	for {
		select {
		case <-f.stirred:
		case <-f.ctx.Done():
			return
		}
		f.sending.Lock()
		for _, u := range f.progress.take(f.l.t.runs) {
			f.send(u)
		}
		f.sending.Unlock()
		if wait.For(f.ctx, progressPause) != nil {
			return
		}
	}
}

// Assigned shows the work of a sub-agent in the call of its task, if the prompt of a client has
// given it.
func (s *Server) Assigned(child *session.Conversation) {
	s.mu.Lock()
	one := s.sessions[child.Parent()]
	s.mu.Unlock()
	if one == nil {
		return
	}
	one.mu.Lock()
	defer one.mu.Unlock() // the feed does not end meanwhile
	f := one.feed
	if f == nil {
		return
	}
	last, err := child.Stream().Last(f.ctx, child.ID())
	if err != nil {
		return // its result tells enough
	}
	f.work.Go(func() { f.follow(child, last+1) })
}

// follow shows the actions of a sub-agent from an event on, a line for each.
func (f *feed) follow(child *session.Conversation, from eventstream.Seq) {
	lines := newTranslator()
	for rec, err := range child.Stream().Follow(f.ctx, child.ID(), from) {
		if err != nil {
			return // the prompt has ended
		}
		ev, err := rec.Event()
		a, ok := ev.(*event.ActionEvent)
		if err != nil || !ok || a.Action == nil {
			continue
		}
		switch a.Action.(type) {
		case *event.FinishAction, *event.TaskTrackerAction:
			continue
		}
		f.sending.Lock()
		id, ok := f.l.t.tasks[child.ID()]
		f.sending.Unlock()
		if !ok {
			continue
		}
		f.progress.add(id, lines.title(a)+"  \n", true) // two blanks break the line
		select {
		case f.stirred <- struct{}{}:
		default:
		}
	}
}

// announce tells the client the commands of a session when the answer to its request has been sent,
// which ends the context.
func (s *Server) announce(sent <-chan struct{}, id acp.SessionId, all []session.Command) {
	commands := []acp.AvailableCommand{}
	for _, c := range all {
		one := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Inputs != "" {
			one.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: c.Inputs}}
		}
		commands = append(commands, one)
	}
	if len(commands) == 0 {
		return
	}
	leave, err := s.enter()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		<-sent
		update := acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: commands}}
		if err := s.client().SessionUpdate(s.life, acp.SessionNotification{SessionId: id, Update: update}); err != nil {
			s.o.Log.Info("tell the client the commands", "err", err)
		}
	}()
}
