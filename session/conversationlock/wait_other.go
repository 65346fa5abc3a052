//go:build !linux

package conversationlock

import (
	"errors"
	"time"
)

type closing struct{}

func watchClosing(string, time.Time) (*closing, error) {
	return nil, errors.New("closing of files cannot be watched here")
}

func (*closing) wait() bool { return false }
func (*closing) stop()      {}
func (*closing) close()     {}
