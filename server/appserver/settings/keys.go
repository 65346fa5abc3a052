package settings

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strconv"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// keyInfo is an API key without its secret (ApiKeyResponse).
type keyInfo struct {
	ID        int64   `json:"id"`
	Name      *string `json:"name"`
	Created   string  `json:"created_at"`
	LastUsed  *string `json:"last_used_at"`
	NotBefore *string `json:"not_before"`
	Expires   *string `json:"expires_at"`
	Org       *string `json:"org_id"`
}

// keyNumber is the id of a key in the contract, which is a number that a browser can
// hold.
func keyNumber(id string) int64 {
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 12)
}

func showKey(c store.Credential) keyInfo {
	org := organisation(identity.Tenant(c.Owner))
	return keyInfo{
		ID: keyNumber(c.ID), Name: optional.Of(c.Name), Created: rest.Stamp(c.Created), LastUsed: moment(c.Used), Expires: moment(c.Expires), Org: &org,
	}
}

func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := rest.Stamp(t)
	return &s
}

func (s *Service) listKeys(r *http.Request) (any, error) {
	caller, err := person(r.Context())
	if err != nil {
		return nil, err
	}
	list, err := s.o.Keys.Keys(r.Context(), caller.Tenant())
	if err != nil {
		return nil, err
	}
	out := make([]keyInfo, len(list))
	for i, c := range list {
		out[i] = showKey(c)
	}
	return out, nil
}

var keyBody = &schema.Object{Fields: []schema.Field{
	{Name: "name", Type: schema.Opt(schema.String{Max: 256})},
	{Name: "not_before", Type: schema.Opt(schema.String{Valid: isTime})},
	{Name: "expires_at", Type: schema.Opt(schema.String{Valid: isTime})},
	{Name: "org_id", Type: schema.Opt(schema.String{})},
}}

func isTime(s string) error {
	_, err := parseTime(s)
	return err
}

// parseTime reads a time; one without a zone is in UTC.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errInvalid("the time must be in the form 2006-01-02T15:04:05Z")
}

// createKey makes a key and shows it, once.
func (s *Service) createKey(r *http.Request) (any, error) {
	caller, err := person(r.Context())
	if err != nil {
		return nil, err
	}
	body, err := rest.BodyAs(r, keyBody)
	if err != nil {
		return nil, err
	}
	now, lasts := time.Now(), time.Duration(0)
	if v := body.Text("expires_at"); v != "" {
		until, err := parseTime(v)
		if err != nil {
			return nil, err
		}
		if lasts = until.Sub(now); lasts <= 0 {
			return nil, schema.Invalid("expires_at must be in the future", nil, "body", "expires_at")
		}
	}
	if v := body.Text("not_before"); v != "" {
		if from, err := parseTime(v); err != nil || from.After(now) {
			return nil, schema.Invalid("keys that become valid later are not supported", nil, "body", "not_before")
		}
	}
	if v := body.Text("org_id"); v != "" && v != organisation(caller.Tenant()) {
		return nil, fault.New(fault.Denied, "the organisation is not yours")
	}
	c, secret, err := s.o.Keys.NewKey(r.Context(), caller.Tenant(), body.Text("name"), lasts)
	if err != nil {
		return nil, err
	}
	s.o.Log.Info("an API key was made", "owner", caller.Tenant(), "key", c.ID)
	return struct {
		keyInfo
		Key string `json:"key"`
	}{showKey(c), secret}, nil
}

// findKey returns the key of the caller's that is the wanted one.
func (s *Service) findKey(ctx context.Context, caller identity.Caller, is func(store.Credential) bool) (store.Credential, error) {
	list, err := s.o.Keys.Keys(ctx, caller.Tenant())
	if err != nil {
		return store.Credential{}, err
	}
	for _, c := range list {
		if is(c) {
			return c, nil
		}
	}
	return store.Credential{}, fault.New(fault.NotFound, "API key not found")
}

func (s *Service) deleteKey(r *http.Request) (any, error) {
	caller, err := person(r.Context())
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(r.PathValue("key_id"), 10, 64)
	if err != nil {
		return nil, schema.Violations{{Type: "int_parsing", Loc: []any{"path", "key_id"}, Msg: "Input should be a valid integer, unable to parse string as an integer"}}
	}
	c, err := s.findKey(r.Context(), caller, func(c store.Credential) bool { return keyNumber(c.ID) == n })
	if err != nil {
		return nil, err
	}
	if err := s.o.Keys.DeleteKey(r.Context(), caller.Tenant(), c.ID); err != nil {
		return nil, err
	}
	s.o.Log.Info("an API key was revoked", "owner", caller.Tenant(), "key", c.ID)
	return message{"API key deleted successfully"}, nil
}

func (s *Service) currentKey(r *http.Request) (any, error) {
	caller, err := person(r.Context())
	if err != nil {
		return nil, err
	}
	if caller.Method != identity.APIKey {
		return nil, rest.Fail(http.StatusBadRequest, "This endpoint requires API key authentication")
	}
	c, err := s.findKey(r.Context(), caller, func(c store.Credential) bool { return c.ID == caller.Credential })
	if err != nil {
		return nil, err
	}
	org := organisation(caller.Tenant())
	return map[string]any{
		"id": keyNumber(c.ID), "name": optional.Of(c.Name), "org_id": org, "bound_org_id": org, "user_id": string(caller.Tenant()), "auth_type": "bearer",
	}, nil
}
