package settings

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// pageOf returns the items of a sorted list that come after an id, at most limit.
func pageOf[T any](sorted []T, id func(T) string, after string, limit int) rest.Page[T] {
	at, _ := slices.BinarySearchFunc(sorted, after, func(one T, after string) int {
		if id(one) <= after && after != "" {
			return -1
		}
		return 1
	})
	if at+limit >= len(sorted) {
		return rest.PageOf(sorted[at:], "")
	}
	return rest.PageOf(sorted[at:at+limit], id(sorted[at+limit-1]))
}

var (
	secretBody = &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: secretName, Required: true},
		{Name: "value", Type: schema.String{Max: 1 << 20}, Required: true},
		{Name: "description", Type: schema.Opt(schema.String{Max: 4096})},
	}}
	renameBody = &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: secretName, Required: true},
		{Name: "description", Type: schema.Opt(schema.String{Max: 4096})},
	}}
	secretName = schema.String{Min: 1, Max: 64, Pattern: settings.SecretNames}
)

// secretForm is the body of a secret.
type secretForm struct {
	Name        string  `json:"name"`
	Value       string  `json:"value"`
	Description *string `json:"description"`
}

// readSecret reads a body with a value.
func readSecret(r *http.Request) (form secretForm, err error) {
	if err = rest.Read(r, secretBody, &form); err == nil && !settings.UsableSecret(form.Value) {
		err = schema.Invalid("Secret value must not be empty or redacted", nil, "body", "value")
	}
	return form, err
}

func (u user) searchSecrets(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	contains, after, limit := q.String("name__contains", ""), q.String("page_id", ""), q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	list, err := u.Secrets()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(one settings.SecretItem) bool { return !containsFold(one.Name, contains) })
	slices.SortFunc(list, func(a, b settings.SecretItem) int { return cmp.Compare(a.Name, b.Name) })
	return pageOf(list, func(one settings.SecretItem) string { return one.Name }, after, limit), nil
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func (u user) saveSecret(r *http.Request) (any, error) {
	form, err := readSecret(r)
	if err != nil {
		return nil, err
	}
	return message{"Secret saved successfully"}, u.SetSecret(r.Context(), form.Name, llm.Secret(form.Value), form.Description)
}

// rename changes the name and the description of the secret that a path names.
func (u user) rename(r *http.Request) error {
	var form secretForm
	if err := rest.Read(r, renameBody, &form); err != nil {
		return err
	}
	return u.RenameSecret(r.Context(), r.PathValue("secret_id"), form.Name, form.Description)
}

func (u user) changeSecret(r *http.Request) (any, error) {
	if err := u.rename(r); err != nil {
		if fault.Is(err, fault.Conflict) {
			return nil, rest.Fail(http.StatusBadRequest, "Secret name already exists")
		}
		return nil, err
	}
	return message{"Secret updated successfully"}, nil
}

func (u user) deleteSecret(r *http.Request) (any, error) {
	return message{"Secret deleted successfully"}, u.DeleteSecret(r.Context(), r.PathValue("secret_id"))
}

// ofSandbox returns the settings of the owner of the sandbox that a path names, for a
// client with its session key, and the names of the secrets that the sandbox was given.
func (s *Service) ofSandbox(r *http.Request) (own *settings.Service, given []string, err error) {
	caller, id := identity.CallerOf(r.Context()), r.PathValue("sandbox_id")
	if caller.Sandbox != id {
		return nil, nil, fault.New(fault.Denied, "the session key is for another sandbox")
	}
	if given, err = s.o.Sandboxes.GivenSecrets(r.Context(), string(caller.Tenant()), id); err != nil {
		return nil, nil, err
	}
	own, err = s.o.Of(r.Context(), caller.Tenant())
	return own, given, err
}

func (s *Service) sandboxSecrets(r *http.Request) (any, error) {
	own, given, err := s.ofSandbox(r)
	if err != nil {
		return nil, err
	}
	list, err := own.SandboxSecrets()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(one settings.SecretItem) bool { return !slices.Contains(given, one.Name) })
	return map[string][]settings.SecretItem{"secrets": list}, nil
}

// sandboxSecret answers with a value as plain text, for a lookup of an agent in the
// sandbox.
func (s *Service) sandboxSecret(w http.ResponseWriter, r *http.Request) error {
	own, given, err := s.ofSandbox(r)
	if err != nil {
		return err
	}
	name := r.PathValue("secret_name")
	if !slices.Contains(given, name) {
		return fault.New(fault.NotFound, "the sandbox was given no secret "+name)
	}
	value, err := own.SandboxSecret(r.Context(), name)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(value.Reveal())))
	w.WriteHeader(http.StatusOK)
	if _, err := io.WriteString(w, value.Reveal()); err != nil {
		return rest.ErrBroken
	}
	return nil
}
