package session

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Routed is the choice of a classifier; fields are empty as long as they are not known.
type Routed struct{ Class, Profile, Model string }

// MetaProfile says how tasks are routed to LLM profiles: by classes, or by a prompt with which
// the classifier names a profile itself (docs/openhands/sdk-features-1.58.md section 4).
type MetaProfile struct {
	Classifier string `json:"classifier_model"`
	Classes    []struct {
		Description string `json:"description"`
		Model       string `json:"model"`
	} `json:"classes"`
	Template *string `json:"prompt_template"`
	Table    *string `json:"model_table"`
}

// classifierService is the service that the classifier's model is.
const classifierService = "classifier"

// routedMessages is how many messages a classifier gets.
const routedMessages = 6

const classifierPrompt = "You sort tasks of an AI agent, so that each goes to the model that suits it."

// route has a classifier choose an LLM profile for the conversation, and switches to it. There is
// no default: an answer that names none is an error.
func (w *worker) route(ctx context.Context, params *schema.Map) (got Routed, err error) {
	meta, err := w.metaProfile(ctx, params)
	if err != nil {
		return got, err
	}
	given := params.Object("meta_profile_llms")
	l, err := w.routedLLM(ctx, given, meta.Classifier)
	if err != nil {
		return got, fmt.Errorf("the classifier: %w", err)
	}
	if err := w.models.set(classifierService, l.Clone("classifier:"+meta.Classifier)); err != nil {
		return got, err
	}
	names, err := w.c.m.o.Settings.LLMs(ctx, w.c.Owner())
	if err != nil {
		return got, err
	}
	system, question := meta.question(transcript(w.State().View))
	answer, err := w.askService(ctx, classifierService, system, question)
	if err != nil {
		return got, fmt.Errorf("the classifier: %w", err)
	}
	if got.Class, got.Profile = meta.choice(answer, append(names, given.Keys()...)); got.Profile == "" {
		return got, fault.New(fault.Invalid, fmt.Sprintf("the classifier's answer %q names no class", clipped(answer))).
			Hint("try again, or the user has to change the classes of the meta-profile")
	}
	if l, err = w.routedLLM(ctx, given, got.Profile); err != nil {
		return got, err
	}
	got.Model = l.Model
	return got, w.c.SwitchLLM(ctx, l.Clone("profile:"+got.Profile))
}

// metaProfile returns the meta-profile that a tool's parameters name, or else have; the first
// saved one if they do neither.
func (w *worker) metaProfile(ctx context.Context, params *schema.Map) (meta MetaProfile, err error) {
	given := params.Object("meta_profile")
	name := params.Text("active_meta_profile")
	raw, err := json.RawMessage(nil), error(fault.New(fault.NotFound, ""))
	if name != "" || given == nil {
		raw, err = w.c.m.o.Settings.MetaProfile(ctx, w.c.Owner(), name)
	}
	if fault.Is(err, fault.NotFound) && given != nil {
		raw, err = schema.Encode(given)
	}
	if fault.Is(err, fault.NotFound) {
		return meta, fault.New(fault.NotFound, strings.TrimSpace("there is no meta-profile "+name)).Hint("the user has to save one")
	}
	if err == nil {
		err = json.Unmarshal(raw, &meta)
	}
	if err != nil {
		return meta, fault.Wrap(err, fault.Invalid, "read the meta-profile")
	}
	return meta, nil
}

// routedLLM returns the LLM of a profile, which the tool's parameters may have.
func (w *worker) routedLLM(ctx context.Context, given *schema.Map, profile string) (*spec.LLM, error) {
	if own := given.Object(profile); own != nil {
		return spec.CheckLLM(own, schema.Reading{}, "meta_profile_llms", profile)
	}
	return w.c.m.o.Settings.LLM(ctx, w.c.Owner(), profile)
}

var (
	placeholder = lazyregexp.New(`{{\s*(instance_text|model_table)\s*}}`)
	classNumber = lazyregexp.New(`-?\d+`)
	jsonObject  = lazyregexp.New(`(?s)\{.*\}`)
)

// question returns the system prompt of the classifier and its question.
func (p MetaProfile) question(messages string) (system, question string) {
	if p.Template != nil {
		values := map[string]string{"instance_text": messages, "model_table": ""}
		if p.Table != nil {
			values["model_table"] = *p.Table
		}
		return classifierPrompt, strings.TrimSpace(placeholder().ReplaceAllStringFunc(*p.Template, func(m string) string {
			return values[placeholder().FindStringSubmatch(m)[1]]
		}))
	}
	var b strings.Builder
	b.WriteString(classifierPrompt + "\n\nPick the class that describes the present task best:\n\n")
	for i, c := range p.Classes {
		b.WriteString(strconv.Itoa(i+1) + ". " + c.Description + "\n")
	}
	b.WriteString("\nAnswer with its number and nothing else; with 0 if none fits.")
	return b.String(), "The last messages:\n" + messages + "\n\nThe number of the class:"
}

// choice reads the class and the profile in a classifier's answer, "" for none.
func (p MetaProfile) choice(answer string, profiles []string) (class, profile string) {
	if p.Template == nil {
		n, err := strconv.Atoi(classNumber().FindString(answer))
		if err != nil || n < 1 || n > len(p.Classes) {
			return "", ""
		}
		return p.Classes[n-1].Description, p.Classes[n-1].Model
	}
	var named struct {
		Model string `json:"model"`
	}
	// The longest name counts: one may be a part of another.
	slices.SortFunc(profiles, func(a, b string) int { return len(b) - len(a) })
	if json.Unmarshal([]byte(jsonObject().FindString(answer)), &named) == nil && named.Model != "" {
		answer = named.Model
		profiles = slices.DeleteFunc(profiles, func(one string) bool { return !strings.EqualFold(one, strings.TrimSpace(answer)) })
	}
	for _, one := range profiles {
		if word := regexp.MustCompile(`(?i)(^|[^\w-])` + regexp.QuoteMeta(one) + `($|[^\w-])`); word.MatchString(answer) {
			return "model: " + one, one
		}
	}
	return "", ""
}

// transcript are the last messages of a conversation. Actions and their results say less about
// the task, and can be large.
func transcript(view []event.Event) string {
	var all []string
	for _, ev := range view {
		if m, ok := ev.(*event.MessageEvent); ok {
			if text := strings.TrimSpace(event.JoinText(m.LLMMessage.Content)); text != "" {
				all = append(all, string(m.Source)+": "+text)
			}
		}
	}
	if len(all) == 0 {
		return "(there are none yet)"
	}
	return strings.Join(all[max(0, len(all)-routedMessages):], "\n")
}
