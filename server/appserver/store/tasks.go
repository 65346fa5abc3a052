package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/job"
)

// TaskStatus is how far a start task is, in the contract's words
// (AppConversationStartTaskStatus).
type TaskStatus string

// The states of start tasks, in their order.
const (
	Working              TaskStatus = "WORKING"
	WaitingForSandbox    TaskStatus = "WAITING_FOR_SANDBOX"
	PreparingRepository  TaskStatus = "PREPARING_REPOSITORY"
	RunningSetupScript   TaskStatus = "RUNNING_SETUP_SCRIPT"
	SettingUpGitHooks    TaskStatus = "SETTING_UP_GIT_HOOKS"
	SettingUpSkills      TaskStatus = "SETTING_UP_SKILLS"
	StartingConversation TaskStatus = "STARTING_CONVERSATION"
	Ready                TaskStatus = "READY"
	Failed               TaskStatus = "ERROR"
)

// Ended reports whether the task does nothing any more.
func (t TaskStatus) Ended() bool { return t == Ready || t == Failed }

// Task is the start of a conversation.
type Task struct {
	ID           string
	Owner        string
	Conversation event.ConversationID // that it makes
	Sandbox      string               // "" until there is one
	Made         bool                 // the sandbox was made for the task
	Status       TaskStatus
	Detail       string          // why it failed, or ""
	FailedAt     TaskStatus      // how far it was then, or ""
	Request      json.RawMessage // as it was sent; stored sealed, since it may have secrets
	Log          string          // output of the set-up
	Created      time.Time
	Updated      time.Time
}

// TaskProgress is the progress of the job of a start task.
type TaskProgress struct {
	Sandbox  string     `json:"sandbox,omitempty"`
	Made     bool       `json:"made,omitempty"`
	Status   TaskStatus `json:"status,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	FailedAt TaskStatus `json:"failed_at,omitempty"`
	Log      string     `json:"log,omitempty"`
}

// Progress returns how far a task is.
func (t *Task) Progress() TaskProgress {
	return TaskProgress{t.Sandbox, t.Made, t.Status, t.Detail, t.FailedAt, t.Log}
}

// TaskOf returns the start task that a job does.
func TaskOf(j job.Job) (Task, error) {
	p := TaskProgress{Status: Working}
	if err := json.Unmarshal(j.Progress, &p); err != nil {
		return Task{}, fault.Wrap(err, fault.Corrupt, "read the start task "+j.ID)
	}
	t := Task{
		ID: j.ID, Owner: string(j.Owner), Conversation: j.Subject, Sandbox: p.Sandbox, Made: p.Made, Status: p.Status, Detail: p.Detail, FailedAt: p.FailedAt,
		Request: j.Args, Log: p.Log, Created: j.Created, Updated: j.Updated,
	}
	switch j.State {
	case job.Done:
		t.Status = Ready
	case job.Failed, job.Cancelled:
		t.Status, t.Detail = Failed, cmp.Or(t.Detail, j.Error)
	}
	return t, nil
}

// Task returns a task of an owner, NotFound if there is none.
func (s *Store) Task(ctx context.Context, owner, id string) (Task, error) {
	j, err := s.TaskJob(ctx, owner, id)
	if err != nil {
		return Task{}, err
	}
	return TaskOf(j)
}

// TaskJob returns the job of a task of an owner, NotFound if there is none.
func (s *Store) TaskJob(ctx context.Context, owner, id string) (job.Job, error) {
	return one(s.on(ctx), s.job, missing("start task", id), "SELECT "+jobColumns+" FROM app_jobs WHERE id = ? AND owner = ? AND kind = ?", id, owner, StartKind)
}

// TaskQuery selects start tasks of an owner.
type TaskQuery struct {
	Owner        string
	Conversation event.ConversationID // "" for any
	From         time.Time            // created then or later; zero for any
	Unfinished   bool                 // only tasks that have not ended
	ByUpdated    bool                 // order by the time of the last change
	Ascending    bool
	Page         string
	Limit        int
}

func (q TaskQuery) where() (string, []any) {
	where, args := " WHERE owner = ? AND kind = ? AND created_at >= ?", []any{q.Owner, StartKind, micro(q.From)}
	if q.Conversation != "" {
		where += " AND subject = ?"
		args = append(args, string(q.Conversation))
	}
	if q.Unfinished {
		where += " AND " + atWork
	}
	return where, args
}

// Tasks returns one page of start tasks, whose Request is nil if no key opens it, and where the next one begins ("" on the last).
func (s *Store) Tasks(ctx context.Context, q TaskQuery) (_ []Task, next string, err error) {
	column, direction, follows := "created_at", "DESC", "<"
	if q.ByUpdated {
		column = "updated_at"
	}
	where, args := q.where()
	if q.Ascending {
		direction, follows = "ASC", ">"
	}
	if q.Page != "" {
		start, id := parsePage(q.Page)
		where += " AND (" + column + " " + follows + " ? OR " + column + " = ? AND id " + follows + "= ?)"
		args = append(args, start, start, id)
	}
	found, err := s.jobs(ctx, where+" ORDER BY "+column+" "+direction+", id "+direction+" LIMIT ?", append(args, q.Limit+1)...)
	if err != nil {
		return nil, "", err
	}
	tasks, err := mapped(found, TaskOf)
	tasks, next = paged(tasks, q.Limit, func(t Task) (time.Time, string) {
		if q.ByUpdated {
			return t.Updated, t.ID
		}
		return t.Created, t.ID
	})
	return tasks, next, err
}

// mapped are the subjects of jobs.
func mapped[T any](jobs []job.Job, of func(job.Job) (T, error)) (all []T, err error) {
	for _, j := range jobs {
		one, err := of(j)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// CountTasks returns how many start tasks a query selects, ignoring its page.
func (s *Store) CountTasks(ctx context.Context, q TaskQuery) (n int, err error) {
	where, args := q.where()
	err = s.on(ctx).row("SELECT count(*) FROM app_jobs"+where, args...).Scan(&n)
	return n, failed(err)
}

// PendingMessage is a message for a conversation that is being started.
type PendingMessage struct {
	ID      string
	Owner   string
	Task    string
	Content json.RawMessage
	Created time.Time
}

// AddPendingMessage stores a message for a start task to send, and returns how many
// wait then. ended is true, and nothing is stored, if the task has ended.
func (s *Store) AddPendingMessage(ctx context.Context, m PendingMessage) (waiting int, ended bool, err error) {
	err = s.change(ctx, func(t tx) error {
		state, err := one(t, value[job.State], missing("start task", m.Task), "SELECT state FROM app_jobs WHERE id = ? AND owner = ? AND kind = ?"+t.forUpdate(), m.Task, m.Owner, StartKind)
		if err != nil {
			return err
		}
		if ended = state.Ended(); ended {
			return nil
		}
		if _, err := t.exec("INSERT INTO app_pending_messages (id, owner, task, content, created_at) VALUES ("+marks(5)+")", m.ID, m.Owner, m.Task, string(m.Content), micro(m.Created)); err != nil {
			return err
		}
		return t.row("SELECT count(*) FROM app_pending_messages WHERE task = ?", m.Task).Scan(&waiting)
	})
	return waiting, ended, err
}

// forUpdate locks the selected row until the transaction ends; SQLite locks all of them.
func (t tx) forUpdate() string {
	if t.engine == PostgreSQL {
		return " FOR UPDATE"
	}
	return ""
}

// FinishTask stores the end of the job of a start task if no message waits for it, and
// reports whether it did. The messages that wait are returned in their order. They are to be
// sent and deleted, and the task is to be finished again.
func (s *Store) FinishTask(ctx context.Context, j job.Job) (done bool, waiting []PendingMessage, err error) {
	err = s.change(ctx, func(x tx) error {
		if _, err := one(x, value[job.State], job.ErrLost, "SELECT state FROM app_jobs WHERE id = ?"+x.forUpdate(), j.ID); err != nil { // deleted
			return err
		}
		waiting, err = all(x, pendingMessage, "SELECT id, owner, task, content, created_at FROM app_pending_messages WHERE task = ? ORDER BY created_at, id", j.ID)
		if err != nil || len(waiting) > 0 {
			return err
		}
		_, err = x.saveJob(j)
		done = err == nil
		return err
	})
	return done, waiting, err
}

func pendingMessage(row scanner) (m PendingMessage, err error) {
	err = row.Scan(&m.ID, &m.Owner, &m.Task, (*[]byte)(&m.Content), stored{&m.Created})
	return m, err
}

// DeletePendingMessage deletes a message that was sent.
func (s *Store) DeletePendingMessage(ctx context.Context, id string) error {
	_, err := s.on(ctx).exec("DELETE FROM app_pending_messages WHERE id = ?", id)
	return failed(err)
}
