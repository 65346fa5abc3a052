package runtimeapi

import (
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

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
