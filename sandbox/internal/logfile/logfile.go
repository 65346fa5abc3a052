// Package logfile reads the log of a sandbox, and follows it without polling. A
// reader belongs to one goroutine.
package logfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fsnotify/fsnotify"
)

// Open returns the last max bytes of a file; with follow also later output until
// ended is closed or ctx ends.
func Open(ctx context.Context, path string, max int64, follow bool, ended <-chan struct{}) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox's log: %w", err)
	}
	fi, err := f.Stat()
	if err == nil {
		_, err = f.Seek(fi.Size()-min(fi.Size(), max), io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the sandbox's log: %w", err), f.Close())
	}
	if !follow {
		return f, nil
	}
	l := &logReader{File: f, ctx: ctx, ended: ended}
	if l.changed, err = fsnotify.NewWatcher(); err == nil {
		err = l.changed.Add(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("follow the sandbox's log: %w", err), l.Close())
	}
	return l, nil
}

// logReader waits at the end of the file for more.
type logReader struct {
	*os.File
	ctx     context.Context // of the caller of Open
	changed *fsnotify.Watcher
	ended   <-chan struct{}
}

// Read implements io.Reader.
func (l *logReader) Read(b []byte) (int, error) {
	ended := false
	for {
		n, err := l.File.Read(b)
		if n > 0 || !errors.Is(err, io.EOF) || ended {
			return n, err
		}
		select {
		case _, ok := <-l.changed.Events:
			ended = !ok
		case err := <-l.changed.Errors:
			return 0, err
		case <-l.ended:
			ended = true // the last lines are read before the end
		case <-l.ctx.Done():
			return 0, context.Cause(l.ctx)
		}
	}
}

// Close implements io.Closer.
func (l *logReader) Close() error {
	var err error
	if l.changed != nil {
		err = l.changed.Close()
	}
	return errors.Join(err, l.File.Close())
}
