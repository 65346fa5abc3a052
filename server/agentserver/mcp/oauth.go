package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// owner is the one of all logins of an agent server.
const owner = "local"

// loginOutcome is the result of a login's job.
type loginOutcome struct {
	State json.RawMessage `json:"state,omitempty"` // nil where no login was needed
	Tried Result          `json:"tried"`
}

// started is the answer to the start of a login.
type started struct {
	OK        bool    `json:"ok"`
	Job       string  `json:"job_id,omitempty"`
	Address   *string `json:"authorization_url,omitempty"`
	Error     string  `json:"error,omitempty"`
	ErrorKind string  `json:"error_kind,omitempty"`
}

// loginStatus is the state of a login.
type loginStatus struct {
	answer
	Status  string  `json:"status"` // pending, authorizing, succeeded or failed
	Job     string  `json:"job_id"`
	Address *string `json:"authorization_url,omitempty"`
	Ready   bool    `json:"callback_ready"`
}

// oauthStart begins a login at a server. One that can be used as it is needs none.
func (s *Service) oauthStart(w http.ResponseWriter, r *http.Request) error {
	p, oauth, err := s.readProbe(r)
	switch {
	case err != nil:
		return err
	case !oauth:
		return rest.Fail(http.StatusBadRequest, "MCP OAuth start requires auth.strategy='oauth2'")
	case s.o.Jobs == nil:
		return rest.JSON(w, http.StatusOK, started{Error: "people log in at MCP servers in the settings of the web app", ErrorKind: "unknown"})
	}
	job, err := s.o.Jobs.Start(r.Context(), owner, mcplogin.Request{Server: p.Server, Logins: s.o.Logins}, func(ctx context.Context, l mcplogin.Request) (json.RawMessage, error) {
		out, err := s.login(ctx, p, l)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	})
	if err != nil {
		return err
	}
	out := started{OK: true, Job: job.ID}
	if at := job.Address(); at != "" {
		out.Address = &at
	} else if _, err := job.Result(); err != nil {
		a := failure(err)
		out = started{Error: a.Error, ErrorKind: a.ErrorKind}
	}
	return rest.JSON(w, http.StatusOK, out)
}

// login tries a server, logs in if it wants that, and tries it again.
func (s *Service) login(ctx context.Context, p Probe, l mcplogin.Request) (out loginOutcome, err error) {
	out.Tried, err = s.o.Probe(ctx, p)
	if !fault.Is(err, fault.Auth) {
		return out, err
	}
	if out.State, err = mcplogin.Locally(s.o.LogIn)(ctx, l); err != nil {
		return out, err
	}
	server, err := withState(p.Server, out.State)
	if err != nil {
		return out, err
	}
	p.Server = server
	out.Tried, err = s.o.Probe(ctx, p)
	return out, err
}

// withState returns a server with a login.
func withState(server, state json.RawMessage) (json.RawMessage, error) {
	var fields, auth map[string]json.RawMessage
	err := json.Unmarshal(server, &fields)
	if err == nil {
		err = json.Unmarshal(fields["auth"], &auth)
	}
	if err != nil {
		return nil, err
	}
	auth["state"] = state
	if fields["auth"], err = json.Marshal(auth); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// find returns the login of a request.
func (s *Service) find(r *http.Request) (*mcplogin.Job, error) {
	if s.o.Jobs != nil {
		if job, err := s.o.Jobs.Find(owner, r.PathValue("job_id")); err == nil {
			return job, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "MCP OAuth job not found")
}

func (s *Service) oauthStatus(w http.ResponseWriter, r *http.Request) error {
	job, err := s.find(r)
	if err != nil {
		return err
	}
	out, err := s.statusOf(job)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, out)
}

var stateSchema = spec.Reference("MCPOAuthState", schema.Object{})

// statusOf describes a login.
func (s *Service) statusOf(job *mcplogin.Job) (out loginStatus, err error) {
	out = loginStatus{answer: answer{OK: true}, Status: "pending", Job: job.ID}
	if at := job.Address(); at != "" {
		out.Status, out.Address, out.Ready = "authorizing", &at, true
	}
	select {
	case <-job.Done():
	default:
		return out, nil
	}
	out.Ready = false
	raw, err := job.Result()
	if err != nil {
		out.answer, out.Status = failure(err), "failed"
		return out, nil
	}
	var done loginOutcome
	if err := json.Unmarshal(raw, &done); err != nil {
		return out, err
	}
	if done.State != nil {
		done.Tried.State = done.State
	}
	out.answer, out.Status = s.succeeded(done.Tried), "succeeded"
	return out, nil
}

// sealed returns a login with its secrets sealed.
func (s *Service) sealed(state json.RawMessage) (*schema.Map, error) {
	doc, err := schema.Parse(state)
	if err != nil {
		return nil, err
	}
	m, err := stateSchema.Check(doc, schema.Reading{})
	if err != nil {
		return nil, err
	}
	return stateSchema.Dump(m, schema.Storing(s.o.Keys))
}

var callbackSchema = spec.Reference("MCPOAuthCallbackRequest", schema.Object{})

// oauthCallback takes the address of a redirect that a person has copied: this server's own port
// cannot be reached from every browser.
func (s *Service) oauthCallback(w http.ResponseWriter, r *http.Request) error {
	body, err := rest.BodyAs(r, callbackSchema)
	if err != nil {
		return err
	}
	if _, err := s.find(r); err != nil {
		return err
	}
	u, err := url.Parse(body.Text("callback_url"))
	if err != nil || u.Query().Get("state") == "" || u.Query().Get("code")+u.Query().Get("error") == "" {
		return rest.Fail(http.StatusBadRequest, "the callback URL has no code and state")
	}
	job, err := s.o.Jobs.Answer(owner, u.Query())
	if err != nil || job.ID != r.PathValue("job_id") {
		return rest.Fail(http.StatusBadRequest, "the callback URL is of another login")
	}
	select {
	case <-job.Done():
	case <-r.Context().Done():
		return r.Context().Err()
	}
	out, err := s.statusOf(job)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, out)
}
