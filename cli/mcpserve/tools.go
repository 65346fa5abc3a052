package mcpserve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
)

// The arguments of the tools.
type (
	startArgs struct {
		Task      string `json:"task" jsonschema:"The task, in plain language, with everything the agent has to know"`
		Directory string `json:"directory,omitempty" jsonschema:"Directory to work in; relative ones are below the directory of the server, which is the default"`
	}
	idArgs struct {
		ID string `json:"task_id" jsonschema:"Id of the task"`
	}
	watchArgs struct {
		ID      string `json:"task_id" jsonschema:"Id of the task"`
		Seconds int    `json:"seconds,omitempty" jsonschema:"How long to wait for the end, 45 seconds by default, at most 3600"`
	}
	messageArgs struct {
		ID      string `json:"task_id" jsonschema:"Id of the task"`
		Message string `json:"message" jsonschema:"What to tell the agent"`
	}
	noArgs struct{}
)

// Result is the state of a task as the tools return it.
type Result struct {
	ID string `json:"task_id"`
	// Status is running, or the conversation's status: finished, paused, error, stuck.
	Status string `json:"status"`
	Title  string `json:"title"`
	// Directory is where the task works.
	Directory string `json:"directory"`
	// Answer is the agent's last message; empty while it works.
	Answer string  `json:"answer"`
	Error  string  `json:"error,omitempty"`
	Cost   float64 `json:"cost_usd"`
	Resume string  `json:"resume_command"`
}

// list is the result of list_tasks.
type list struct {
	Tasks []Result `json:"tasks"`
}

// The default and the bound of the time that watch_task waits: many clients give a request up
// after a minute.
const (
	watchTime    = 45 * time.Second
	maxWatchTime = time.Hour
)

func (s *Server) addTools(server *sdk.Server) {
	no, yes := false, true
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	works := &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	add(server, &sdk.Tool{Name: "start_task", Description: "Starts a task and returns its id at once. The agent works on its own, in a sandbox, until it is done.", Annotations: works},
		func(ctx context.Context, _ *sdk.CallToolRequest, a startArgs) (Result, error) {
			t, err := s.start(ctx, a)
			if err != nil {
				return Result{}, err
			}
			return s.result(ctx, t)
		})
	add(server, &sdk.Tool{Name: "watch_task", Description: "Waits until a task has ended or the time is up, and returns its state. Each step of the agent is a progress notification meanwhile.", Annotations: reads},
		func(ctx context.Context, r *sdk.CallToolRequest, a watchArgs) (Result, error) {
			limit := watchTime
			if a.Seconds > 0 {
				limit = min(time.Duration(a.Seconds)*time.Second, maxWatchTime)
			}
			return s.watch(ctx, r, a.ID, limit)
		})
	add(server, &sdk.Tool{Name: "task_result", Description: "Returns the state of a task, and the agent's last message once it has ended.", Annotations: reads},
		func(ctx context.Context, _ *sdk.CallToolRequest, a idArgs) (Result, error) {
			t, err := s.find(a.ID)
			if err != nil {
				return Result{}, err
			}
			return s.result(ctx, t)
		})
	add(server, &sdk.Tool{Name: "list_tasks", Description: "Lists the tasks that were started here.", Annotations: reads},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ noArgs) (list, error) {
			out := list{Tasks: []Result{}}
			for _, t := range s.all() {
				r, err := s.result(ctx, t)
				if err != nil {
					return out, err
				}
				out.Tasks = append(out.Tasks, r)
			}
			return out, nil
		})
	add(server, &sdk.Tool{Name: "send_message", Description: "Sends a message to the agent of a task: an answer, or more work. A task that has ended goes on.", Annotations: works},
		func(ctx context.Context, _ *sdk.CallToolRequest, a messageArgs) (Result, error) {
			t, err := s.find(a.ID)
			if err == nil {
				err = s.send(ctx, t, a.Message)
			}
			if err != nil {
				return Result{}, err
			}
			return s.result(ctx, t)
		})
	add(server, &sdk.Tool{Name: "cancel_task", Description: "Stops a task at once, with the command that it runs. Its work so far stays.", Annotations: works},
		func(ctx context.Context, _ *sdk.CallToolRequest, a idArgs) (Result, error) {
			t, err := s.find(a.ID)
			if err == nil {
				err = s.cancel(ctx, t)
			}
			if err != nil {
				return Result{}, err
			}
			return s.result(ctx, t)
		})
}

// add adds a tool whose result is structured, and the same as JSON in its text.
func add[In, Out any](server *sdk.Server, t *sdk.Tool, do func(context.Context, *sdk.CallToolRequest, In) (Out, error)) {
	sdk.AddTool(server, t, func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		out, err := do(ctx, r, in)
		if err != nil {
			text := err.Error()
			if hint := fault.HintOf(err); hint != "" {
				text += "; " + hint
			}
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return nil, out, fmt.Errorf("encode the result: %w", err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(raw)}}}, out, nil
	})
}
