// Package api asks a critic that is a model behind the classification endpoint of vLLM
// (docs/critic.md, docs/openhands/sdk-features.md section 7).
//
// # Usage
//
//	clients := api.New()
//	result, err := clients.Judge(ctx, agent.Critic, critic.Case{View: events, Tools: tools})
//
// # Concurrency and failure
//
// Safe for concurrent use. Requests go where package outbound allows, follow no redirect, and carry
// texts with masked secrets. Status 500 is tried three times, as by the reference. An answer that does
// not fit the labels is an error of kind fault.Unavailable; errors have neither the key nor the
// server's words.
package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/internal/wait"
	"github.com/deft-dev/deft/spec"
)

// Client asks critics.
type Client struct {
	service *outbound.Service
	pause   time.Duration // before the second try
}

var _ critic.Clients = (*Client)(nil)

// mostSeconds bounds how long an answer is waited for.
const mostSeconds = 3600

// tries is how often a request is made that the server answers with status 500.
const tries = 3

// New returns a client.
func New() *Client { return &Client{service: outbound.NewService("critic"), pause: time.Second} }

// Judge implements [critic.Clients].
func (c *Client) Judge(ctx context.Context, of *spec.Critic, about critic.Case) (critic.Result, error) {
	key := of.APIKey.Reveal()
	if strings.TrimSpace(key) == "" {
		return critic.Result{}, fault.New(fault.Auth, "the critic has no key").Hint("set its api_key, or critic_api_key in the settings")
	}
	text, err := transcript(of, about)
	if err != nil {
		return critic.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(min(of.Timeout, mostSeconds)*float64(time.Second)))
	defer cancel()
	var answer struct {
		Data []struct {
			Probs   []float64 `json:"probs"`
			Classes *int      `json:"num_classes"`
		} `json:"data"`
	}
	q := outbound.Ask{
		Method: http.MethodPost, URL: strings.TrimRight(of.ServerURL, "/") + "/classify", Key: key,
		Body: map[string]string{"model": of.ModelName, "input": text},
	}
	pause := c.pause
	for try := 1; ; try++ {
		err := c.service.Ask(ctx, q, &answer)
		if err == nil {
			break
		}
		status, _ := errors.AsType[outbound.StatusError](err)
		if status != http.StatusInternalServerError || try == tries || wait.For(ctx, pause) != nil {
			return critic.Result{}, err
		}
		pause *= 2
	}
	if len(answer.Data) == 0 || answer.Data[0].Classes != nil && *answer.Data[0].Classes != len(answer.Data[0].Probs) {
		return critic.Result{}, fault.New(fault.Unavailable, "the critic has answered without likelihoods")
	}
	return result(of, about, answer.Data[0].Probs)
}
