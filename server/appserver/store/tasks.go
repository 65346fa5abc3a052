package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
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

// unfinished selects tasks that have not ended, in the words of their index.
const unfinished = "status NOT IN ('READY', 'ERROR')"

// Task is the start of a conversation.
type Task struct {
	ID           string
	Owner        string
	Conversation event.ConversationID // that it makes
	Sandbox      string               // "" until there is one
	Status       TaskStatus
	Detail       string          // why it failed, or ""
	FailedAt     TaskStatus      // how far it was then, or ""
	Request      json.RawMessage // as it was sent; stored sealed, since it may have secrets
	Log          string          // what the set-up printed
	Created      time.Time
	Updated      time.Time
}

const taskColumns = "id, owner, conversation, sandbox, status, detail, request, log, created_at, updated_at, failed_at"

// SaveTask stores a task, or how far it is.
func (s *Store) SaveTask(ctx context.Context, t Task) error {
	return s.saveTask(s.on(ctx), t)
}

// AddTask stores a new task, RateLimit if its owner has as many conversations at work as
// the limit says, and Conflict if another task of the owner makes its conversation. That
// holds for servers that add at the same time.
func (s *Store) AddTask(ctx context.Context, t Task, l RunLimit) error {
	return s.change(ctx, func(x tx) error {
		if err := x.lockOwner(t.Owner); err != nil {
			return err
		}
		if err := x.admitRun(t.Owner, l); err != nil {
			return err
		}
		var making int
		err := x.row("SELECT count(*) FROM app_start_tasks WHERE conversation = ? AND owner = ? AND "+unfinished, string(t.Conversation), t.Owner).Scan(&making)
		if err != nil {
			return err
		}
		if making > 0 {
			return fault.New(fault.Conflict, "the conversation "+string(t.Conversation)+" is being started")
		}
		return s.saveTask(x, t)
	})
}

func (s *Store) saveTask(x tx, t Task) error {
	request, err := s.ring.Seal(t.Request)
	if err != nil {
		return err
	}
	_, err = x.exec("INSERT INTO app_start_tasks ("+taskColumns+") VALUES ("+marks(11)+`)
ON CONFLICT (id) DO UPDATE SET sandbox = excluded.sandbox, status = excluded.status, detail = excluded.detail, log = excluded.log, updated_at = excluded.updated_at, failed_at = excluded.failed_at`,
		t.ID, t.Owner, string(t.Conversation), t.Sandbox, string(t.Status), t.Detail, request, t.Log, micro(t.Created), micro(t.Updated), string(t.FailedAt))
	return failed(err)
}

// Task returns a task of an owner, NotFound if there is none.
func (s *Store) Task(ctx context.Context, owner, id string) (Task, error) {
	t, err := s.task(s.on(ctx).row("SELECT "+taskColumns+" FROM app_start_tasks WHERE id = ? AND owner = ?", id, owner))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("start task", id)
	}
	return t, failed(err)
}

// TaskQuery selects start tasks of an owner.
type TaskQuery struct {
	Owner        string
	Conversation event.ConversationID // "" for any
	From         time.Time            // created then or later; zero for any
	Unfinished   bool                 // only those that have not ended
	ByUpdated    bool                 // order by the time of the last change
	Ascending    bool
	Page         string
	Limit        int
}

func (q TaskQuery) where() (string, []any) {
	where, args := " WHERE owner = ? AND created_at >= ?", []any{q.Owner, micro(q.From)}
	if q.Conversation != "" {
		where += " AND conversation = ?"
		args = append(args, string(q.Conversation))
	}
	if q.Unfinished {
		where += " AND " + unfinished
	}
	return where, args
}

// Tasks returns one page of start tasks, whose Request is nil if no key opens it, and where the next one begins ("" on the last).
func (s *Store) Tasks(ctx context.Context, q TaskQuery) (all []Task, next string, err error) {
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
	rows, err := s.on(ctx).rows("SELECT "+taskColumns+" FROM app_start_tasks"+where+" ORDER BY "+column+" "+direction+", id "+direction+" LIMIT ?", append(args, q.Limit+1)...)
	if err != nil {
		return nil, "", failed(err)
	}
	if all, err = s.tasks(rows); err != nil {
		return nil, "", err
	}
	if len(all) > q.Limit {
		last := all[q.Limit]
		when := last.Created
		if q.ByUpdated {
			when = last.Updated
		}
		next, all = pageAt(when, last.ID), all[:q.Limit]
	}
	return all, next, nil
}

// CountTasks returns how many start tasks a query selects, ignoring its page.
func (s *Store) CountTasks(ctx context.Context, q TaskQuery) (n int, err error) {
	where, args := q.where()
	err = s.on(ctx).row("SELECT count(*) FROM app_start_tasks"+where, args...).Scan(&n)
	return n, failed(err)
}

// UnfinishedTasks returns the tasks of all owners that have not ended, the oldest first.
// Those whose request no key opens are left out.
func (s *Store) UnfinishedTasks(ctx context.Context) ([]Task, error) {
	rows, err := s.on(ctx).rows("SELECT " + taskColumns + " FROM app_start_tasks WHERE " + unfinished + " ORDER BY created_at, id")
	if err != nil {
		return nil, failed(err)
	}
	all, err := s.tasks(rows)
	return slices.DeleteFunc(all, func(t Task) bool { return t.Request == nil }), err
}

// UnfinishedTask returns a task, whoever's it is. NotFound if it has ended, or if there is
// none.
func (s *Store) UnfinishedTask(ctx context.Context, id string) (Task, error) {
	t, err := s.task(s.on(ctx).row("SELECT "+taskColumns+" FROM app_start_tasks WHERE id = ? AND "+unfinished, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("start task at work", id)
	}
	return t, failed(err)
}

func (s *Store) tasks(rows *sql.Rows) (all []Task, err error) {
	defer rows.Close()
	for rows.Next() {
		t, err := s.task(rows)
		if err != nil && !errors.Is(err, schema.ErrSealed) {
			return nil, failed(err)
		}
		all = append(all, t)
	}
	return all, failed(rows.Err())
}

func (s *Store) task(row scanner) (t Task, err error) {
	var id, status, request, failedAt string
	var created, updated int64
	if err := row.Scan(&t.ID, &t.Owner, &id, &t.Sandbox, &status, &t.Detail, &request, &t.Log, &created, &updated, &failedAt); err != nil {
		return Task{}, err
	}
	t.Conversation, t.Status, t.FailedAt, t.Request, t.Created, t.Updated = event.ConversationID(id), TaskStatus(status), TaskStatus(failedAt), json.RawMessage(request), at(created), at(updated)
	if s.ring.Looks(request) { // those of earlier versions are not sealed
		t.Request, err = s.unseal(request)
	}
	return t, err
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
		var status string
		err := t.row("SELECT status FROM app_start_tasks WHERE id = ? AND owner = ?"+t.forUpdate(), m.Task, m.Owner).Scan(&status)
		if errors.Is(err, sql.ErrNoRows) {
			return missing("start task", m.Task)
		}
		if err != nil {
			return err
		}
		if ended = TaskStatus(status).Ended(); ended {
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

// FinishTask ends a task if no message waits for it, and reports whether it did. If
// some wait it returns them, in their order; they are to be sent and deleted, and the
// task is to be finished again.
func (s *Store) FinishTask(ctx context.Context, t Task) (done bool, waiting []PendingMessage, err error) {
	err = s.change(ctx, func(x tx) error {
		var status string
		if err := x.row("SELECT status FROM app_start_tasks WHERE id = ?"+x.forUpdate(), t.ID).Scan(&status); err != nil {
			return err
		}
		rows, err := x.rows("SELECT id, owner, task, content, created_at FROM app_pending_messages WHERE task = ? ORDER BY created_at, id", t.ID)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var m PendingMessage
			var content string
			var created int64
			if err := rows.Scan(&m.ID, &m.Owner, &m.Task, &content, &created); err != nil {
				return err
			}
			m.Content, m.Created = json.RawMessage(content), at(created)
			waiting = append(waiting, m)
		}
		if err := rows.Err(); err != nil || len(waiting) > 0 {
			return err
		}
		done = true
		_, err = x.exec("UPDATE app_start_tasks SET status = ?, detail = ?, log = ?, updated_at = ? WHERE id = ?", string(t.Status), t.Detail, t.Log, micro(t.Updated), t.ID)
		return err
	})
	return done, waiting, err
}

// DeletePendingMessage deletes a message that was sent.
func (s *Store) DeletePendingMessage(ctx context.Context, id string) error {
	_, err := s.on(ctx).exec("DELETE FROM app_pending_messages WHERE id = ?", id)
	return failed(err)
}
