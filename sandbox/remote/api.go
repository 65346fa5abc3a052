package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
)

const (
	// retryTime bounds how long a request is repeated, busyTries how often if the API
	// says that there are too many.
	retryTime = 30 * time.Second
	busyTries = 3
	// requestTime bounds one request; a start answers within 20 seconds.
	requestTime = time.Minute
	maxAnswer   = 8 << 20
)

// api speaks the Runtime API's HTTP.
type api struct {
	base, key, keyName string
	client             *http.Client
}

// runtime is the API's description of one.
type runtime struct {
	ID         string   `json:"runtime_id"`
	URL        string   `json:"url"`
	SessionKey string   `json:"session_api_key"`
	SessionID  string   `json:"session_id"`
	Status     string   `json:"status"`
	PodStatus  string   `json:"pod_status"`
	Image      string   `json:"image"`
	Reasons    []string `json:"restart_reasons"`
	WorkingDir string   `json:"working_dir"`
	Reason     string   `json:"reason"`
}

// States of a runtime.
const (
	statusStarting = "starting"
	statusRunning  = "running"
	statusPaused   = "paused"
)

// newAPI checks the address.
func newAPI(o Options) (*api, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "not the address of a Runtime API: "+strconv.Quote(o.URL)).Hint("for example https://runtimes.example.org")
	}
	return &api{
		base: strings.TrimSuffix(o.URL, "/"), key: o.Key, keyName: o.KeyName,
		client: &http.Client{
			Transport: o.Transport, Timeout: requestTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key is for this address
		},
	}, nil
}

// call sends a request until it is answered, and reads the answer into out.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	return retry(ctx, func() (time.Duration, error) { return a.once(ctx, method, path, body, out) })
}

// retry sends a request until it is answered. send returns how long the API asks to wait.
func retry(ctx context.Context, send func() (after time.Duration, err error)) error {
	giveUp, pause := time.Now().Add(retryTime), 100*time.Millisecond
	for tries := 1; ; tries++ {
		after, err := send()
		again := fault.Is(err, fault.Unavailable) || fault.Is(err, fault.RateLimit) && tries < busyTries
		pause = max(min(2*pause, 5*time.Second), min(after, 10*time.Second))
		if !again || time.Now().Add(pause).After(giveUp) {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if wait.For(ctx, d) != nil {
		return gaveUp(ctx, "wait for the Runtime API")
	}
	return nil
}

// gaveUp is why nothing more is asked: the time that a start has is over, or the caller left.
func gaveUp(ctx context.Context, what string) error {
	if cause := context.Cause(ctx); fault.Is(cause, fault.Timeout) {
		return cause
	}
	return fault.Wrap(context.Cause(ctx), fault.Canceled, what)
}

// once sends a request. after is how long the API asks to wait.
func (a *api) once(ctx context.Context, method, path string, body []byte, out any) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, fault.Wrap(err, fault.Invalid, "ask the Runtime API")
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return a.send(a.client, r, out)
}

// send sends a request, and reads the answer into out.
func (a *api) send(c *http.Client, r *http.Request, out any) (after time.Duration, err error) {
	ctx := r.Context()
	r.Header.Set("X-API-Key", a.key)
	r.Header.Set("Accept", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return 0, gaveUp(ctx, "ask the Runtime API")
		}
		return 0, fault.New(fault.Unavailable, "the Runtime API at "+a.base+" does not answer").Hint("is it running, and is --runtime-api its address?").Because(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, fault.Wrap(err, fault.Unavailable, "read the Runtime API's answer")
	}
	if resp.StatusCode/100 != 2 {
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // 0 for a date
		return time.Duration(seconds) * time.Second, a.refusal(resp, raw)
	}
	if out == nil {
		return 0, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return 0, fault.New(fault.Corrupt, "the Runtime API at "+a.base+" answers something else").Hint("is --runtime-api its address?").Because(err)
	}
	return 0, nil
}

// refusal is the error that an answer means.
func (a *api) refusal(resp *http.Response, raw []byte) error {
	var said struct {
		Detail json.RawMessage `json:"detail"`
	}
	text := strings.TrimSpace(string(raw[:min(len(raw), 300)]))
	if json.Unmarshal(raw, &said) == nil && len(said.Detail) > 0 {
		text = string(said.Detail[:min(len(said.Detail), 1000)])
		_ = json.Unmarshal(said.Detail, &text) // or a list, which is shown as it is
	}
	because := errors.New(resp.Status)
	of := func(k fault.Kind) error { return fault.New(k, "the Runtime API says: "+text).Because(because) }
	switch code := resp.StatusCode; code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.New(fault.Denied, "the Runtime API at "+a.base+" refuses the key").Hint("check the variable " + a.keyName).Because(because)
	case http.StatusNotFound:
		return of(fault.NotFound)
	case http.StatusConflict:
		return of(fault.Conflict)
	case http.StatusTooManyRequests:
		return of(fault.RateLimit)
	case http.StatusNotImplemented:
		return of(fault.Unsupported)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return of(fault.Unavailable)
	default:
		switch code / 100 {
		case 3: // the key is not sent there
			to := resp.Header.Get("Location")
			return fault.New(fault.Invalid, "the Runtime API at "+a.base+" redirects to "+strconv.Quote(to[:min(len(to), 200)])).
				Hint("if that is right, name it with --runtime-api").Because(because)
		case 4:
			return of(fault.Invalid)
		}
		return fault.New(fault.Internal, "the Runtime API fails: "+text).Because(because)
	}
}

// session returns the runtime of a session. NotFound if it has none.
func (a *api) session(ctx context.Context, id string) (rt runtime, err error) {
	return rt, a.call(ctx, http.MethodGet, "/sessions/"+url.PathEscape(id), nil, &rt)
}

// change pauses, resumes or stops a runtime.
func (a *api) change(ctx context.Context, what, id string) error {
	return a.call(ctx, http.MethodPost, "/"+what, map[string]string{"runtime_id": id}, nil)
}
