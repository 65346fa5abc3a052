package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
)

// modelCard is the server's description of the model.
type modelCard struct {
	window int // tokens, to be asked for
	levels bool
	thinks bool
	tools  bool
	vision bool
	noCard bool // the server has no such answer: a proxy, or very old
}

// maxShow limits the answer of /api/show, which contains licences and
// templates.
const maxShow = 4 << 20

// fallback is the window, in tokens, of an unknown model.
const fallback = 32_768

// minNumCtx is the lowest num_ctx of a Modelfile that is used, in tokens: a
// lower one is too small for a conversation with tools, and comes from old
// examples.
const minNumCtx = 8_192

// learn returns the server's description of the model, requested once.
func (m *Model) learn(ctx context.Context) (*modelCard, error) {
	if c := m.known.Load(); c != nil {
		return c, nil
	}
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := m.known.Load(); c != nil {
		return c, nil
	}
	c, err := m.show(ctx)
	if err != nil {
		return nil, err
	}
	m.known.Store(c)
	info := m.Info()
	info.ContextWindow = c.window
	if !c.noCard {
		info.Vision, info.Tools, info.Reasoning = c.vision, c.tools, c.thinks
	}
	m.info.Store(&info)
	return c, nil
}

// show requests /api/show (https://docs.ollama.com/api#show-model-information).
func (m *Model) show(ctx context.Context) (*modelCard, error) {
	body, err := json.Marshal(map[string]string{"model": m.end.WireModel()})
	if err != nil {
		return nil, err
	}
	res, err := m.end.Post(ctx, "api/show", m.header, body)
	if err != nil {
		err = m.explain(err)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code == codeNotFound || e.Retryable || fault.KindOf(err) != fault.Invalid {
			return nil, err
		}
		info := m.Info()
		return &modelCard{window: cmp.Or(info.ContextWindow, m.window(fallback, 0)), tools: true, vision: info.Vision, thinks: info.Reasoning, noCard: true}, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxShow+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxShow || !gjson.ValidBytes(data) {
		return nil, m.end.Malformed(errors.New("the description of the model is too large or not JSON"), false)
	}
	return m.read(gjson.ParseBytes(data)), nil
}

// setWindow matches the num_ctx in a Modelfile.
var setWindow = lazyregexp.New(`(?m)^\s*num_ctx\s+(\d{1,9})\s*$`)

func (m *Model) read(show gjson.Result) *modelCard {
	real := 0
	details := show.Get("model_info").Map()
	if n := details[details["general.architecture"].String()+".context_length"].Int(); n > 0 && n < 1<<31 {
		real = int(n)
	}
	set := 0
	if found := setWindow().FindStringSubmatch(show.Get("parameters").String()); found != nil {
		set, _ = strconv.Atoi(found[1]) // nine digits at most
	}
	if set < minNumCtx {
		set = 0
	}
	c := &modelCard{window: m.window(cmp.Or(real, m.cfg.Info.ContextWindow, fallback), set)}
	abilities := show.Get("capabilities")
	if !abilities.IsArray() { // before 0.6.4
		info := m.Info()
		c.tools, c.vision, c.thinks = info.Tools, info.Vision, info.Reasoning
		return c
	}
	var names []string
	for _, a := range abilities.Array() {
		names = append(names, a.String())
	}
	c.tools, c.vision, c.thinks = slices.Contains(names, "tools"), slices.Contains(names, "vision"), slices.Contains(names, "thinking")
	// OpenAI's open models take a level instead of true or false.
	c.levels = c.thinks && strings.HasPrefix(strings.ReplaceAll(show.Get("details.family").String(), "-", ""), "gptoss")
	return c
}

// window limits a model's real window by the user's setting, else by the
// Modelfile, else by the default. 0 (unknown) stays 0.
func (m *Model) window(real, modelfile int) int {
	limit := cmp.Or(m.cfg.ContextLimit, modelfile, DefaultContext)
	if own := m.cfg.Info.ContextWindow; own > 0 {
		limit = min(limit, own)
	}
	return min(real, limit)
}

// codeNotFound is the Code of a model that is not on the server.
const codeNotFound = "model_not_found"

// explain adds a hint to an error.
func (m *Model) explain(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	text := strings.ToLower(e.Unwrap().Error()) // without the model's name
	switch {
	case e.Status == http.StatusNotFound && strings.Contains(text, "not found") && strings.Contains(text, "model"):
		e.Code = codeNotFound
		return e.Hint(fmt.Sprintf("download it with: ollama pull %s", m.end.WireModel()))
	case strings.Contains(text, "does not support tools"):
		return e.Hint("choose a model with tool support: https://ollama.com/search?c=tools")
	case strings.Contains(text, "more system memory"):
		return e.Hint("lower the context limit, or choose a smaller model")
	}
	return e
}
