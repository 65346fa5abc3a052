// Package remote asks services over HTTP how dangerous actions are: Gray Swan's Cygnal, an
// Invariant server, or a server of one's own (docs/confirmation.md).
//
// # Usage
//
//	clients := remote.New(os.Getenv)
//	rating, err := clients.Rate(ctx, service, security.Case{Action: action, History: events})
//
// # Concurrency and failure
//
// Safe for concurrent use. Requests go where package outbound allows, follow no redirect, and
// carry texts with masked secrets. An answer without a rating is an error of kind
// fault.Unavailable, as is a server that does not answer in time; errors have no keys.
package remote

import (
	"context"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/security"
)

// Client asks services.
type Client struct {
	env     func(string) string
	service *outbound.Service

	mu       sync.Mutex
	monitors map[monitorKey]string // of Invariant servers
}

var _ security.Clients = (*Client)(nil)

// New returns a client. env has the operator's keys, GRAYSWAN_API_KEY, GRAYSWAN_POLICY_ID: they
// go to Gray Swan's own address only.
func New(env func(string) string) *Client {
	return &Client{env: env, service: outbound.NewService("service"), monitors: map[monitorKey]string{}}
}

// Rate implements [security.Clients].
func (c *Client) Rate(ctx context.Context, s security.Service, about security.Case) (security.Assessment, error) {
	switch config := s.Config().(type) {
	case security.GraySwan:
		return c.graySwan(ctx, config, about)
	case security.Invariant:
		return c.invariant(ctx, config, about)
	case security.HTTP:
		return c.ownService(ctx, config, about)
	}
	return security.Assessment{}, fault.New(fault.Unsupported, "this program has no client for "+s.Name())
}

// ask asks a service that has some seconds to answer.
func (c *Client) ask(ctx context.Context, seconds float64, q outbound.Ask, out any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	return c.service.Ask(ctx, q, out)
}
