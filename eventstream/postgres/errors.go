package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

const (
	serverHint = "look whether the PostgreSQL server runs and can be reached"
	spaceHint  = "free some space on the disk of the PostgreSQL server and try again; stored events stay readable"
)

// storage gives an error of the database its kind. Errors that have a kind pass
// unchanged. The errors of pgx name the server, the user and the database, and never
// the password.
func storage(err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverError(e.Code, err)
	}
	if errors.Is(err, context.Canceled) {
		return canceled(err)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect):
		return fault.New(fault.Unavailable, "cannot connect to the PostgreSQL server").Hint(serverHint).Because(err)
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, errConnection):
		return fault.New(fault.Unavailable, "the connection to the PostgreSQL server was lost").Hint(serverHint).Because(err)
	}
	return err
}

// serverError gives an error that the server reports its kind, by the codes of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func serverError(code string, err error) error {
	switch code {
	case "53100": // disk_full
		return fault.New(fault.Full, "no space left for the event database").Hint(spaceHint).Because(err)
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fault.New(fault.Auth, "the PostgreSQL server does not accept the user or the password").Hint("check the URL of the database").Because(err)
	case "3D000": // invalid_catalog_name
		return fault.New(fault.Invalid, "the PostgreSQL database does not exist").Hint("create it with `createdb`").Because(err)
	case "3F000": // invalid_schema_name
		return fault.New(fault.Invalid, "the schema of the PostgreSQL database does not exist").Hint("create it, or change search_path in the URL").Because(err)
	case "42704", "22023": // undefined_object, invalid_parameter_value
		return fault.New(fault.Invalid, "the PostgreSQL server does not accept a setting").Hint("check the settings in the URL of the database, behind the ?").Because(err)
	case "42501": // insufficient_privilege
		return fault.New(fault.Denied, "no permission to use the event database").Hint("the user of the URL must own the tables, or be able to create them in its schema").Because(err)
	case "25006": // read_only_sql_transaction
		return fault.New(fault.Unavailable, "the PostgreSQL server accepts no writes").Hint("is it a standby? Name the primary in the URL, or add target_session_attrs=read-write").Because(err)
	case "57014": // query_canceled
		return canceled(err)
	case "53300": // too_many_connections
		return fault.New(fault.Unavailable, "the PostgreSQL server has no free connection").Hint("raise max_connections of the server, or lower pool_max_conns in the URL").Because(err)
	case "XX001", "XX002", "42P01", "42703": // data_corrupted, index_corrupted, undefined_table, undefined_column
		return fault.New(fault.Corrupt, "the event database is damaged").Hint("restore it from a backup").Because(err)
	case "54000", "22001": // program_limit_exceeded, string_data_right_truncation
		return fault.New(fault.Invalid, "the event is too large to be stored").Because(err)
	}
	switch code[:min(2, len(code))] {
	case "08", "53", "57", "40": // connection, resources, operator intervention, transaction rollback
		return fault.New(fault.Unavailable, "the PostgreSQL server cannot work now").Hint(serverHint).Because(err)
	case "58": // system_error, as input and output errors
		return fault.New(fault.Unavailable, "the PostgreSQL server cannot use its files").Hint("look at the log of the PostgreSQL server").Because(err)
	}
	return err
}

// errConnection is the cause of an error where a connection ended without one.
var errConnection = errors.New("the connection ended")

// rolledBack reports whether the server undid a transaction that may succeed when it is
// repeated.
func rolledBack(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && len(e.Code) == 5 && e.Code[:2] == "40" && e.Code != "40003"
}

// uniqueViolation reports whether a value that must be unique is there already.
func uniqueViolation(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23505"
}

func canceled(err error) error {
	return fault.Wrap(err, fault.Canceled, "the request was canceled")
}

func notFound(id event.ConversationID) error {
	return fault.New(fault.NotFound, fmt.Sprintf("no conversation %s", id)).Hint("`deft conversations list --all` shows the stored ones")
}

func missing(id event.ConversationID, seq eventstream.Seq) error {
	return fault.New(fault.Corrupt, fmt.Sprintf("event %d of conversation %s is damaged: it is missing", seq, id)).Hint("restore the database from a backup")
}

var errClosed = fault.New(fault.Canceled, "the event store is closed")
