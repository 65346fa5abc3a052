package builds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Upload is a build whose context is being received. Close it.
type Upload struct {
	q      *Queue
	owner  string
	file   *os.File // nil before ReadContext
	digest string
	begun  bool // the build has the place and the file
}

// Upload takes a place in the queue.
func (q *Queue) Upload(owner string) (*Upload, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := 0
	for _, n := range q.places {
		all += n
	}
	switch {
	case q.places[owner] >= maxOwned:
		return nil, fault.New(fault.RateLimit, fmt.Sprintf("this key has %d unfinished builds, as many as it may", maxOwned)).Hint("try again when one has ended")
	case all >= maxPlaces:
		return nil, fault.New(fault.RateLimit, "too many builds are waiting").Hint("try again later")
	}
	q.places[owner]++
	return &Upload{q: q, owner: owner}, nil
}

// ReadContext reads a tar.gz with a Dockerfile in its first directory, and checks it.
func (u *Upload) ReadContext(r io.Reader) error {
	if u.file != nil {
		return fault.New(fault.Invalid, "there are two contexts")
	}
	f, err := os.CreateTemp(u.q.o.Dir, "context-")
	if err != nil {
		return fault.Wrap(err, fault.Internal, "store the context")
	}
	u.file = f
	sum := sha256.New()
	err = checkArchive(r, io.MultiWriter(f, sum), u.q.o.Network)
	u.digest = hex.EncodeToString(sum.Sum(nil))
	return err
}

// Start starts the build. If the same one is under way, it is returned instead.
func (u *Upload) Start(ctx context.Context, tags []string) (Build, error) {
	switch {
	case u.file == nil:
		return Build{}, fault.New(fault.Invalid, "there is no context")
	case len(tags) == 0:
		return Build{}, fault.New(fault.Invalid, "there is no target_image")
	case len(tags) > maxTags:
		return Build{}, fault.New(fault.Invalid, fmt.Sprintf("there are more than %d tags", maxTags))
	}
	b := Build{ID: newID(), Owner: u.owner, Tags: tags, Status: Queued, Digest: u.digest, Created: time.Now().UTC()}
	b, started, err := u.q.enqueue(ctx, b, u.file.Name())
	u.begun = started
	return b, err
}

// Close gives the place back, unless the build was started.
func (u *Upload) Close() error {
	var err error
	if u.file != nil {
		err = u.file.Close()
	}
	if u.begun {
		return err
	}
	u.q.release(u.owner)
	if u.file != nil {
		err = errors.Join(err, os.Remove(u.file.Name()))
	}
	return err
}
