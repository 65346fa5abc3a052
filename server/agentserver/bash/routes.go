package bash

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Routes returns the operations under /api/bash.
func (s *Service) Routes() []rest.Route {
	return routes(func(*http.Request) (*Service, func(), error) { return s, func() {}, nil })
}

// Routes returns the same operations under each conversation.
func (c *Scopes) Routes(of workspacescope.WorkspaceOf) []rest.Route {
	return of.Routes(routes(func(r *http.Request) (*Service, func(), error) {
		scope, _ := workspacescope.Of(r.Context())
		return c.Acquire(scope)
	}))
}

type handler func(s *Service, w http.ResponseWriter, r *http.Request) error

func routes(of func(*http.Request) (*Service, func(), error)) []rest.Route {
	with := func(h handler) rest.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			s, release, err := of(r)
			if err != nil {
				return err
			}
			defer release()
			return h(s, w, r)
		}
	}
	return []rest.Route{
		{Method: "GET", Path: "/api/bash/bash_events/search", Tag: "Bash", Scope: rest.Sandbox, Handle: with(search)},
		{Method: "GET", Path: "/api/bash/bash_events/{event_id}", Tag: "Bash", Scope: rest.Sandbox, Handle: with(get)},
		{Method: "GET", Path: "/api/bash/bash_events/{$}", Tag: "Bash", Scope: rest.Sandbox, Handle: with(batch)},
		{Method: "DELETE", Path: "/api/bash/bash_events", Tag: "Bash", Scope: rest.Sandbox, Handle: with(clear)},
		// Otherwise net/http redirects it to the batch.
		{Method: "GET", Path: "/api/bash/bash_events", Tag: "Bash", Hidden: true, Scope: rest.Sandbox, Handle: notAllowed},
		{Method: "POST", Path: "/api/bash/start_bash_command", Tag: "Bash", Scope: rest.Sandbox, Handle: with(start)},
		{Method: "POST", Path: "/api/bash/execute_bash_command", Tag: "Bash", Scope: rest.Sandbox, Handle: with(execute)},
		{Method: "POST", Path: "/api/bash/bash_commands/{command_id}/stop", Tag: "Bash", Scope: rest.Sandbox, Handle: with(stop)},
	}
}

func search(s *Service, w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	query := Query{Kind: q.Literal("kind__eq", "", KindCommand, KindOutput)}
	if id, ok := ParseID(q.UUID("command_id__eq")); ok {
		query.Command = &id
	}
	for name, bound := range map[string]**time.Time{"timestamp__gte": &query.From, "timestamp__lt": &query.To} {
		if t, ok := q.Time(name, time.UTC); ok {
			*bound = &t
		}
	}
	if q.Has("order__gt") {
		query.OrderAfter = new(q.Int("order__gt", 0, -1<<62, 1<<62))
	}
	query.Descending = q.Enum("sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC") == "TIMESTAMP_DESC"
	query.Page = q.String("page_id", "")
	query.Limit = q.Limit("limit", pageSize, pageSize)
	if err := q.Err(); err != nil {
		return err
	}
	if _, err := s.opened(); err != nil {
		return err
	}
	return pieces(w, func(w io.Writer) error {
		between := `{"items":[`
		next, err := s.Search(query, func(event json.RawMessage) error {
			if _, err := io.WriteString(w, between); err != nil {
				return err
			}
			between = ","
			_, err := w.Write(event)
			return err
		})
		if err != nil {
			return err
		}
		if between != "," {
			_, _ = io.WriteString(w, between) // Flush returns the error
		}
		end := `],"next_page_id":null}`
		if next != "" {
			end = `],"next_page_id":` + strconv.Quote(next) + `}`
		}
		_, err = io.WriteString(w, end)
		return err
	})
}

// pieces answers with JSON that is written in pieces.
func pieces(w http.ResponseWriter, write func(io.Writer) error) error {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 16<<10)
	if err := write(b); err != nil {
		return rest.ErrBroken
	}
	if err := b.Flush(); err != nil {
		return rest.ErrBroken
	}
	return nil
}

func get(s *Service, w http.ResponseWriter, r *http.Request) error {
	id, ok := ParseID(r.PathValue("event_id"))
	if !ok {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	data, err := s.Get(id)
	if err != nil {
		return notFound(err)
	}
	return rest.Bytes(w, http.StatusOK, data)
}

// notFound words the absence of an event as the reference does.
func notFound(err error) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	return err
}

// idsSchema describes the ids of a batch; any text is one.
var idsSchema = schema.List{Of: schema.String{}}

func batch(s *Service, w http.ResponseWriter, r *http.Request) error {
	doc, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	doc, err = schema.Check(idsSchema, doc, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	ids, _ := doc.([]any) // a list of strings
	if _, err := s.opened(); err != nil {
		return err
	}
	return pieces(w, func(w io.Writer) error {
		sep := "["
		for _, name := range ids {
			id, _ := ParseID(name.(string)) // no event has the id of zeros
			found, err := s.Get(id)
			switch {
			case fault.Is(err, fault.NotFound):
				found = json.RawMessage("null")
			case err != nil:
				return err
			}
			if _, err := w.Write(append([]byte(sep), found...)); err != nil {
				return err
			}
			sep = ","
		}
		if sep == "[" {
			sep = "[]"
		} else {
			sep = "]"
		}
		_, err := io.WriteString(w, sep)
		return err
	})
}

func notAllowed(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Allow", http.MethodDelete)
	return rest.Fail(http.StatusMethodNotAllowed, "Method Not Allowed")
}

func clear(s *Service, w http.ResponseWriter, _ *http.Request) error {
	n, err := s.Clear()
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]int{"cleared_count": n})
}

// request reads the body of a start.
func request(s *Service, r *http.Request) (Request, error) {
	var req Request
	if err := rest.Read(r, RequestSchema, &req); err != nil {
		return req, err
	}
	if s.o.Contains != nil && req.Cwd != "" && !s.o.Contains(req.Cwd) {
		return req, workspacescope.Outside("cwd")
	}
	return req, nil
}

func start(s *Service, w http.ResponseWriter, r *http.Request) error {
	req, err := request(s, r)
	if err != nil {
		return err
	}
	c, err := s.Start(req)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, c)
}

func execute(s *Service, w http.ResponseWriter, r *http.Request) error {
	req, err := request(s, r)
	if err != nil {
		return err
	}
	id, err := s.Execute(r.Context(), req)
	if err != nil {
		return err
	}
	return pieces(w, func(w io.Writer) error { return s.WriteOutput(w, id) })
}

func stop(s *Service, w http.ResponseWriter, r *http.Request) error {
	text, err := rest.PathUUID(r, "command_id")
	if err != nil {
		return err
	}
	id, _ := ParseID(text) // valid after PathUUID
	if err := s.Stop(r.Context(), id); err != nil {
		return notFound(err)
	}
	return rest.OK(w)
}

// Request asks for a command.
type Request struct {
	// Command is given to `sh -c`.
	Command string `json:"command"`
	// Cwd is the directory to run in; empty takes the service's.
	Cwd string `json:"cwd,omitempty"`
	// Timeout is in seconds. Zero or less ends the command at once, as the
	// reference does.
	Timeout int `json:"timeout"`
}

// RequestSchema describes the JSON of a [Request].
var RequestSchema = spec.Reference("ExecuteBashRequest", schema.Object{})

// ParseRequest reads a request from JSON. Errors are [schema.Violations].
func ParseRequest(raw []byte) (req Request, err error) {
	doc, err := schema.Parse(raw)
	if err != nil {
		return req, schema.Invalid(err.Error(), nil, "body")
	}
	m, err := RequestSchema.Check(doc, schema.Reading{}, "body")
	if err != nil {
		return req, err
	}
	return req, schema.Into(m, &req)
}
