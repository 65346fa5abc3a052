package sqlite

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// room keeps written blocks ahead of the end of the write-ahead log. An fsync
// of a file that has become longer must also write its inode through the file
// system's journal, which takes as long again as the data; one of blocks that
// were there before need not. SQLite takes what lies behind the last frame
// for the remains of older ones and never reads it.
type room struct {
	log  *os.File
	size int64 // of the log when it was last looked at
	off  bool  // after an error: it is of use only
}

const (
	roomLow   = 32 << 10  // frames of a commit that are expected at most
	roomStep  = 64 << 10  // the first step; later ones double the log
	roomMost  = 512 << 10 // and are not longer than this
	roomSpare = 64 << 20  // free space that stays untouched
)

// zeros is only ever read, so it takes no memory: the system shows its one page
// of zeros.
var zeros [roomMost]byte

// make writes zeros behind the log when its end is near. The caller holds
// the database's write lock, so nobody else appends to the log.
func (r *room) make(path string) {
	if r.off {
		return
	}
	if err := r.extend(path); err != nil {
		r.off = true
	}
}

func (r *room) extend(path string) (err error) {
	// The log only: to close a file that SQLite locks, as its index, would
	// give up the locks of this process.
	if r.log == nil {
		if r.log, err = os.OpenFile(path+"-wal", os.O_RDWR, 0); err != nil {
			return err
		}
	}
	if left, err := r.left(); left || err != nil {
		return err
	}
	st, err := r.log.Stat()
	if err != nil {
		return err
	}
	if r.size != st.Size() {
		r.size = st.Size()
		if left, err := r.left(); left || err != nil {
			return err
		}
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(r.log.Fd()), &fs); err != nil {
		return err
	}
	if int64(fs.Bavail)*fs.Bsize < roomSpare {
		return nil
	}
	n, err := r.log.WriteAt(zeros[:min(max(roomStep, r.size), roomMost)], r.size)
	r.size += int64(n)
	return err
}

// left reports whether the frame that begins roomLow before the end of the
// log is not in use: it is zero, or of a former round of the log.
func (r *room) left() (bool, error) {
	const frameLen = walFrameLen + pageSize
	n := (r.size - roomLow - walHeaderLen) / frameLen
	if n < 1 {
		return false, nil
	}
	var frame [walFrameLen]byte
	if _, err := r.log.ReadAt(frame[:], walHeaderLen+n*frameLen); err != nil {
		return false, ignoreEOF(err) // it is shorter now
	}
	if frame == [walFrameLen]byte{} {
		return true, nil
	}
	var head [walHeaderLen]byte
	if _, err := r.log.ReadAt(head[:], 0); err != nil {
		return false, ignoreEOF(err)
	}
	return !bytes.Equal(frame[8:16], head[16:24]), nil
}

func (r *room) close() error {
	if r.log == nil {
		return nil
	}
	return r.log.Close()
}
