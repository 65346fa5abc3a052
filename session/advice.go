package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// oracleProfile is the LLM profile that is asked for second opinions (reference:
// openhands.tools.ask_oracle).
const oracleProfile = "oracle"

// oracleService is the service that the oracle's model is.
const oracleService = "oracle"

const oraclePrompt = `You give a second opinion to an AI agent that works on a task for a user. It has described its question to you; you see nothing else and have no tools.

Answer the question itself. Recommend one thing that the agent can do next, say why, and name the risks. If something that matters is missing in the description, say what, and what you assume.`

// askOracle asks the model of the oracle's profile, without a history and tools.
func (w *worker) askOracle(ctx context.Context, question, about string) (string, error) {
	l, err := w.c.m.o.Settings.LLM(ctx, w.c.Owner(), oracleProfile)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "there is no LLM profile named "+oracleProfile).Hint("the user has to save one")
	}
	if err != nil {
		return "", err
	}
	if err := w.models.set(oracleService, l.Clone("oracle:"+oracleProfile)); err != nil {
		return "", err
	}
	if about = strings.TrimSpace(about); about != "" {
		question += "\n\n## Context\n\n" + about
	}
	answer, err := w.askService(ctx, oracleService, oraclePrompt, "## Question\n\n"+question)
	if err == nil && strings.TrimSpace(answer) == "" {
		err = fault.New(fault.Unavailable, "its answer is empty")
	}
	return answer, err
}

// askService asks the model of a service one question. Its use is counted as the conversation's.
func (w *worker) askService(ctx context.Context, service, system, question string) (string, error) {
	m, done := w.Service(service)
	resp, err := llm.Complete(ctx, m, llm.Request{Session: string(w.c.id), Messages: []event.Message{
		{Role: event.RoleSystem, Content: event.Texts(system)},
		{Role: event.RoleUser, Content: event.Texts(question)},
	}}, nil)
	if err = errors.Join(err, done(context.WithoutCancel(ctx))); err != nil {
		return "", fmt.Errorf("ask the model: %w", err)
	}
	return event.JoinText(resp.Message.Content), nil
}
