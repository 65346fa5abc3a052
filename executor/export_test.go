package executor

// OpenJournalOfBoot is OpenJournal on a machine with another boot id.
var OpenJournalOfBoot = openJournal

// HeaderSize, FrameHead and CompactAt are the sizes tests cut and flip at.
const (
	HeaderSize = headerSize
	FrameHead  = frameHead
	CompactAt  = compactAt
)

// CompactPartly does the first n steps of a compaction.
func (j *Journal) CompactPartly(n int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.end
	if _, err := j.appendLive(); err != nil {
		return err
	}
	for _, step := range j.moveDown(first)[:n] {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
