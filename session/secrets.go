package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

// guard hands a conversation's secrets to the commands that name them, and
// hides them in everything else. It adds to results the rules for their files.
type guard struct {
	secret.Guard
	c *Conversation
	w *worker
}

// Mask implements [controller.Guard].
func (g *guard) Mask(ev event.Event) event.Event {
	g.c.clearRisk(g.w.State(), ev)
	if err := g.w.addPathRules(ev); err != nil {
		g.c.m.o.Log.Warn("record the rules for a file", "conversation", g.c.id, "err", err)
	}
	return g.Guard.Mask(ev)
}

// openSecrets reads the stored secrets.
func (c *configuration) openSecrets(raw json.RawMessage) error {
	c.secrets = secret.NewRegistry(secret.Options{
		Local: func(ctx context.Context, url string) (string, bool) {
			return c.m.o.Settings.Secret(ctx, c.Owner(), url)
		},
		Warn: func(name string, err error) {
			c.m.o.Log.Warn("a secret has no value", "conversation", c.id, "secret", name, "err", err)
		},
	})
	if len(raw) == 0 {
		return nil
	}
	return c.takeSecrets(raw, true)
}

// takeSecrets adds secrets that come as JSON. sealed opens values that are sealed;
// without it a value that looks like one is kept as it is.
func (c *configuration) takeSecrets(raw json.RawMessage, sealed bool) error {
	o := secret.ParseOptions{Server: c.m.o.BaseURL}
	if sealed {
		o.Ring = c.m.o.Ring
	}
	all, err := secret.ParseMap(raw, o)
	if err == nil {
		c.secrets.Set(all...)
	}
	return err
}

// firstSecrets sets the secrets of a new conversation and of its agent.
func (c *configuration) firstSecrets(sources map[string]json.RawMessage, sealed bool) error {
	if err := c.openSecrets(nil); err != nil {
		return err
	}
	if ctx := c.agent.Context; ctx != nil && ctx.Secrets.Len() > 0 {
		raw, err := json.Marshal(ctx.Secrets)
		if err != nil {
			return err
		}
		if err := c.takeSecrets(raw, false); err != nil { // they are not sealed
			return err
		}
	}
	return c.addSecrets(sources, sealed)
}

// addSecrets sets the sources that the conversation's profile allows, and notes them in the
// configuration, sealed.
func (c *configuration) addSecrets(sources map[string]json.RawMessage, sealed bool) error {
	allowed := make(map[string]json.RawMessage, len(sources))
	for name, raw := range sources {
		if c.rec.SecretRefs == nil || slices.Contains(c.rec.SecretRefs, name) {
			allowed[name] = raw
		}
	}
	if len(allowed) > 0 {
		raw, err := json.Marshal(allowed)
		if err != nil {
			return err
		}
		if err := c.takeSecrets(raw, sealed); err != nil {
			return err
		}
	}
	return c.sealSecrets()
}

// sealSecrets notes the secrets in the configuration.
func (c *configuration) sealSecrets() error {
	if len(c.secrets.Names()) == 0 {
		return nil
	}
	stored, err := secret.AppendMap(nil, c.secrets.Sources(), secret.Sealed, c.m.o.Ring)
	if err != nil {
		return fault.Wrap(err, fault.Unsupported, "seal the secrets")
	}
	c.rec.Secrets = stored
	return nil
}

// SetSecrets adds secrets, or replaces others of the same names.
func (c *Conversation) SetSecrets(ctx context.Context, sources map[string]json.RawMessage) error {
	return c.withWorker(ctx, func(w *worker) error { return w.setSecrets(ctx, sources) })
}

func (w *worker) setSecrets(ctx context.Context, sources map[string]json.RawMessage) (err error) {
	w.c.mu.Lock()
	before := w.c.rec.Secrets
	if err = w.c.addSecrets(sources, false); err == nil {
		err = w.c.save(ctx)
	}
	if err != nil {
		w.c.rec.Secrets = before
	}
	shown, serr := w.c.secrets.AppendJSON(nil, secret.Event, nil)
	w.c.mu.Unlock()
	if err != nil {
		return err
	}
	if serr != nil {
		return serr
	}
	for _, g := range w.guests.all() {
		if err := g.SetSecrets(ctx, sources); err != nil {
			return fmt.Errorf("give a sub-agent the secrets: %w", err)
		}
	}
	return w.Update(ctx, "secret_registry", json.RawMessage(shown))
}
