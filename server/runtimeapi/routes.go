package runtimeapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// startRequest is the body of POST /start. A field of a later version of the contract is
// refused by its name, unless it is null.
type startRequest struct {
	Image        string            `json:"image"`
	Command      json.RawMessage   `json:"command"`
	WorkingDir   string            `json:"working_dir"`
	Environment  map[string]string `json:"environment"`
	SessionID    *string           `json:"session_id"`
	Factor       *float64          `json:"resource_factor"`
	RuntimeClass *string           `json:"runtime_class"`
	User         *int              `json:"run_as_user"`
	Group        *int              `json:"run_as_group"`
	FSGroup      *int              `json:"fs_group"`
	Pull         *string           `json:"image_pull_policy"`
}

var startFields = []string{
	"image", "command", "working_dir", "environment", "session_id", "resource_factor", "runtime_class", "run_as_user",
	"run_as_group", "fs_group", "image_pull_policy",
}

// pullPolicies are Kubernetes' names.
var pullPolicies = map[string]string{"Always": sandbox.PullAlways, "IfNotPresent": sandbox.PullMissing, "Never": sandbox.PullNever}

// UnmarshalJSON refuses unknown fields by their names.
func (q *startRequest) UnmarshalJSON(raw []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for _, name := range startFields {
		delete(all, name)
	}
	for name, value := range all {
		if string(value) != "null" {
			return fault.New(fault.Unsupported, name+": this server does not have that field")
		}
	}
	type plain startRequest
	return json.Unmarshal(raw, (*plain)(q))
}

// request returns the request to the registry.
func (q *startRequest) request(key Key) (registry.Request, error) {
	out := registry.Request{
		Owner: key.Name, Quota: key.Quota, Image: q.Image, WorkingDir: q.WorkingDir, Environment: q.Environment,
		User: q.User, Group: q.Group, FSGroup: q.FSGroup,
	}
	for name, id := range map[string]*int{registry.FieldUser: q.User, registry.FieldGroup: q.Group, registry.FieldFSGroup: q.FSGroup} {
		if id != nil && (*id < 0 || *id > 1<<31-1) {
			return out, fault.New(fault.Invalid, name+" must be the number of a user or group")
		}
	}
	if q.SessionID != nil {
		out.SessionID = *q.SessionID
	}
	if q.Factor != nil {
		if *q.Factor == 0 { // the registry's word for none given
			return out, fault.New(fault.Invalid, registry.FieldFactor+" must be more than 0")
		}
		out.Factor = *q.Factor
	}
	if q.RuntimeClass != nil {
		out.RuntimeClass = *q.RuntimeClass
	}
	if q.Pull != nil {
		policy, err := ParsePullPolicy(*q.Pull)
		if err != nil {
			return out, err
		}
		out.Pull = policy
	}
	return out, nil
}

// ParsePullPolicy returns the policy of package sandbox for one of Kubernetes.
func ParsePullPolicy(name string) (string, error) {
	policy, ok := pullPolicies[name]
	if !ok && name != "" {
		return "", fault.New(fault.Invalid, "image_pull_policy must be Always, IfNotPresent or Never")
	}
	return policy, nil
}

func (s *Server) start(r *http.Request, key Key) (any, error) {
	var q startRequest
	if err := decode(r, &q); err != nil {
		return nil, err
	}
	out, err := q.request(key)
	if err != nil {
		return nil, err
	}
	if out.Command, err = registry.ParseCommand(q.Command); err != nil {
		return nil, err
	}
	rt, err := s.o.Registry.Start(r.Context(), out)
	if err != nil {
		return nil, err
	}
	return s.describe(rt), nil
}

// runtimeID reads the body of /stop, /pause and /resume.
func runtimeID(r *http.Request) (string, error) {
	var q struct {
		ID string `json:"runtime_id"`
	}
	if err := decode(r, &q); err != nil {
		return "", err
	}
	if q.ID == "" {
		return "", fault.New(fault.Invalid, "runtime_id is missing")
	}
	return q.ID, nil
}

// change is the handler of a change of the runtime that the body names.
func (s *Server) change(do func(ctx context.Context, owner, id string) (registry.Runtime, error)) handler {
	return func(r *http.Request, key Key) (any, error) {
		id, err := runtimeID(r)
		if err != nil {
			return nil, err
		}
		rt, err := do(r.Context(), key.Name, id)
		if err != nil {
			return nil, err
		}
		return s.describe(rt), nil
	}
}

// show is the handler that answers with the runtime that the path names.
func (s *Server) show(get func(owner, id string) (registry.Runtime, error)) handler {
	return func(r *http.Request, key Key) (any, error) {
		rt, err := get(key.Name, r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return s.describe(rt), nil
	}
}

func (s *Server) list(_ *http.Request, key Key) (any, error) {
	all := []runtime{}
	for _, rt := range s.o.Registry.List(key.Name) {
		all = append(all, s.describe(rt))
	}
	return map[string]any{"runtimes": all}, nil
}

// batch answers with the runtimes of several sessions, given as ids=A&ids=B or ids=A,B.
// Those that there are not are left out.
func (s *Server) batch(r *http.Request, key Key) (any, error) {
	q := r.URL.Query()
	all := []runtime{}
	for _, name := range []string{"ids", "session_ids"} {
		for _, list := range q[name] {
			for id := range strings.SplitSeq(list, ",") {
				if rt, err := s.o.Registry.Session(key.Name, id); err == nil {
					all = append(all, s.describe(rt))
				}
			}
		}
	}
	if !q.Has("ids") && !q.Has("session_ids") {
		return nil, fault.New(fault.Invalid, "query.ids: Field required")
	}
	return all, nil
}

// runtime is the object of the contract, with a few fields of our own at the end.
type runtime struct {
	ID            string         `json:"runtime_id"`
	URL           string         `json:"url"`
	SessionKey    string         `json:"session_api_key"`
	SessionID     string         `json:"session_id"`
	Status        string         `json:"status"`
	PodStatus     string         `json:"pod_status"`
	WorkHosts     map[string]int `json:"work_hosts"`
	Image         string         `json:"image"`
	Restarts      int            `json:"restart_count"`
	Reasons       []string       `json:"restart_reasons"`
	WorkingDir    string         `json:"working_dir"`
	FailureReason string         `json:"reason,omitempty"`
	Hint          string         `json:"hint,omitempty"` // the next step
}

// statuses are how clients read a state. Paused and stopped runtimes have no pod; a
// stopped one has failed, or it would be gone.
var statuses = map[registry.State]struct{ status, pod string }{
	registry.Starting: {"starting", "pending"},
	registry.Running:  {"running", "ready"},
	registry.Paused:   {"paused", "not found"},
	registry.Stopped:  {"stopped", "failed"},
}

// describe returns a runtime as clients read it. Only its owner is shown it, with its key.
func (s *Server) describe(rt registry.Runtime) runtime {
	st := statuses[rt.State]
	out := runtime{
		ID: rt.ID, URL: s.o.Addresses.url(rt), SessionKey: rt.SessionKey, SessionID: rt.SessionID, Status: st.status,
		PodStatus: st.pod, WorkHosts: map[string]int{}, Image: rt.Image, Restarts: rt.Restarts, Reasons: rt.Reasons,
		WorkingDir: rt.WorkingDir, FailureReason: rt.Reason,
	}
	if rt.State == registry.Stopped && rt.Reason == "" { // it was told to stop
		out.PodStatus = "not found"
	}
	if out.FailureReason != "" {
		out.Hint = "start the session again, or stop the runtime"
	}
	if out.Reasons == nil {
		out.Reasons = []string{}
	}
	return out
}
