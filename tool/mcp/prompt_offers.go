package mcp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
)

// Bounds of [Set.Prompts], whose texts are of servers and in bytes.
const (
	maxOffers       = 200 // of all servers
	maxOfferName    = 200
	maxOfferText    = 500
	maxArguments    = 20 // of one prompt
	maxArgumentName = 50
	maxArgumentText = 200
	offersTime      = 10 * time.Second
)

// PromptOffer is a prompt that a person can choose.
type PromptOffer struct {
	// Command is the beginning of a message that names the prompt, /SERVER:PROMPT.
	Command     string
	Server      string
	Description string
	// Arguments are in the order in which they are written behind the command.
	Arguments []PromptArgument
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Prompts lists the prompts that messages can name ([Set.Prompt]), by server and in its order. A server
// that does not answer within some seconds, and prompts that are left out, are warnings.
func (s *Set) Prompts(ctx context.Context) ([]PromptOffer, []Warning) {
	ctx, cancel := context.WithTimeoutCause(ctx, offersTime, errSlow)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	type listing struct {
		known []*sdk.Prompt
		err   error
	}
	listings := make([]listing, len(s.servers))
	var work sync.WaitGroup
	for i, sv := range s.servers {
		if sv.prompts.Load() {
			work.Go(func() { listings[i].known, listings[i].err = sv.listPrompts(ctx) })
		}
	}
	work.Wait()
	var offers []PromptOffer
	var warnings []Warning
	for i, sv := range s.servers {
		known, err := listings[i].known, listings[i].err
		if err != nil {
			err = slow(ctx, offersTime, sv.failed("list its prompts", err))
			warnings = append(warnings, Warning{sv.name, fault.New(fault.KindOf(err), describe(err.Error(), maxOfferText))})
			continue
		}
		more, leftOut := s.offers(sv, known)
		if n := maxOffers - len(offers); len(more) > n {
			more, leftOut = more[:n], leftOut+len(more)-n
		}
		offers = append(offers, more...)
		if leftOut > 0 {
			warnings = append(warnings, Warning{sv.name, fault.New(fault.Unsupported, fmt.Sprintf("%d of its prompts are not listed: there are too many, or no command can name them", leftOut))})
		}
	}
	return offers, warnings
}

// offers are the prompts of a server that a command can name, and the number of the others.
func (s *Set) offers(sv *server, known []*sdk.Prompt) (offers []PromptOffer, leftOut int) {
	word := s.commandOf(sv)
	seen := map[string]bool{}
	for _, p := range known {
		if seen[p.Name] {
			continue // its command means the first one
		}
		seen[p.Name] = true
		if word == "" || !s.writable(p.Name) {
			leftOut++
			continue
		}
		o := PromptOffer{
			Command: "/" + word + ":" + p.Name, Server: describe(sv.name, maxOfferName),
			Description: s.shown(cmp.Or(p.Description, p.Title), maxOfferText),
		}
		for _, a := range p.Arguments {
			if len(o.Arguments) == maxArguments {
				break
			}
			o.Arguments = append(o.Arguments, PromptArgument{
				Name: s.shown(a.Name, maxArgumentName), Description: s.shown(cmp.Or(a.Description, a.Title), maxArgumentText), Required: a.Required,
			})
		}
		offers = append(offers, o)
	}
	return offers, leftOut
}

// shown is a text as [describe] makes it, without secrets: they are masked while they are whole.
func (s *Set) shown(text string, limit int) string {
	return describe(s.opts.Mask(describe(text, math.MaxInt)), limit)
}

// shown is [Set.shown] for a text of the server itself, which may repeat its configuration.
func (s *server) shown(text string, limit int) string {
	return s.set.shown(s.config.conceal(text), limit)
}

// commandOf is the name of a server in commands; "" if they mean another one.
func (s *Set) commandOf(sv *server) string {
	for _, word := range []string{toolName(sv.name), sv.name} {
		if s.writable(word) && !strings.ContainsAny(word, ":/") && s.answersTo(word) == sv {
			return word
		}
	}
	return ""
}

// writable reports whether a person sees the whole of a name, and can write it as one word.
func (s *Set) writable(name string) bool {
	return name != "" && describe(name, maxOfferName) == name && !strings.ContainsFunc(name, unicode.IsSpace) && s.opts.Mask(name) == name
}

// answersTo returns the server with prompts that a command names; nil if there is none.
func (s *Set) answersTo(word string) *server {
	for _, sv := range s.servers {
		if sv.prompts.Load() && (sv.name == word || toolName(sv.name) == word) {
			return sv
		}
	}
	return nil
}
