package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	driverlib "modernc.org/sqlite"
)

// conn is one connection with its prepared statements. It belongs to one
// goroutine at a time. database/sql would double the cost of small statements.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
}

// dial opens a connection to a database that exists; pragmas run in order
// before anything else.
func dial(path string, pragmas ...string) (*conn, error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	raw, err := (&driverlib.Driver{}).Open(u.String() + "?mode=rw")
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}}
	for _, p := range pragmas {
		if err := c.script("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	var errs []error
	for _, st := range c.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// script runs statements that take no arguments and are not worth keeping.
func (c *conn) script(sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return err
}

func (c *conn) prepare(sql string) (st driver.Stmt, err error) {
	if st = c.stmts[sql]; st == nil {
		if st, err = c.raw.Prepare(sql); err == nil {
			c.stmts[sql] = st
		}
	}
	return st, err
}

func bind(args []driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return named
}

// exec runs a statement that is prepared once and returns how many rows it
// changed. Arguments are int64, float64, string or nil.
func (c *conn) exec(sql string, args ...driver.Value) (int64, error) {
	st, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := st.(driver.StmtExecContext).ExecContext(context.Background(), bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// rows walks a result. next fills vals; err is why it stopped.
type rows struct {
	raw  driver.Rows
	vals []driver.Value
	err  error
}

// query runs a statement that is prepared once. The rows must be closed
// before the statement is run again.
func (c *conn) query(sql string, args ...driver.Value) *rows {
	st, err := c.prepare(sql)
	if err != nil {
		return &rows{err: err}
	}
	raw, err := st.(driver.StmtQueryContext).QueryContext(context.Background(), bind(args))
	return newRows(raw, err)
}

// queryOnce is query for a statement that is built for one use.
func (c *conn) queryOnce(sql string, args ...driver.Value) *rows {
	raw, err := c.raw.(driver.QueryerContext).QueryContext(context.Background(), sql, bind(args))
	return newRows(raw, err)
}

func newRows(raw driver.Rows, err error) *rows {
	if err != nil {
		return &rows{err: err}
	}
	return &rows{raw: raw, vals: make([]driver.Value, len(raw.Columns()))}
}

func (r *rows) next() bool {
	if r.err != nil {
		return false
	}
	if err := r.raw.Next(r.vals); err != nil {
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return false
	}
	return true
}

func (r *rows) close() error {
	if r.raw != nil {
		if err := r.raw.Close(); r.err == nil {
			r.err = err
		}
		r.raw = nil
	}
	return r.err
}

// errDamaged means that a row differs from the row that was written.
var errDamaged = errors.New("the row is damaged")

// column returns a value of the present row.
func column[T int64 | float64 | string](r *rows, i int) T {
	v, ok := r.vals[i].(T)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("column %d has a value of the wrong type: %w", i, errDamaged)
	}
	return v
}

func (r *rows) int(i int) int64     { return column[int64](r, i) }
func (r *rows) float(i int) float64 { return column[float64](r, i) }
func (r *rows) text(i int) string   { return column[string](r, i) }

// blob returns nil for NULL, and for values that cannot be a blob: columns of
// blobs are casts.
func (r *rows) blob(i int) []byte {
	v, _ := r.vals[i].([]byte)
	return v
}

// number runs a query of one row with one integer; found is false when it
// has no row.
func (c *conn) number(sql string, args ...driver.Value) (n int64, found bool, err error) {
	r := c.query(sql, args...)
	if r.next() {
		n, found = r.int(0), true
	}
	err = r.close()
	return n, found, err
}
