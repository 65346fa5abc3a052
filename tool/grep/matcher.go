package grep

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Bounds on the arguments of one run of ripgrep, well below the kernel's limit,
// and on how much of a file is checked for a NUL.
const (
	maxBatchFiles = 2000
	maxBatchBytes = 100 << 10
	binaryProbe   = 8 << 10
)

// matcher finds the files with a line that matches a pattern.
type matcher struct {
	re      *regexp.Regexp
	rg      string // path of ripgrep; empty for none
	rgRegex string
}

// newMatcher parses the pattern. The error is of kind fault.Invalid and meant
// for the model.
func newMatcher(pattern, rg string) (*matcher, error) {
	if pattern == "" {
		return nil, fault.New(fault.Invalid, "the pattern is empty; to find files by name use glob")
	}
	// Without OneLine, ^ and $ match at line ends, as in every grep.
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, invalid(pattern, err)
	}
	if breaksLine(tree) {
		return nil, fault.New(fault.Invalid, "the pattern has a line break, but the search is line by line; search for one of the lines")
	}
	anchorToLines(tree)
	canonical := tree.String()
	re, err := regexp.Compile(canonical)
	if err != nil {
		return nil, invalid(pattern, err)
	}
	if re.MatchString("") {
		rg = "" // the engines differ on where an empty match is
	}
	return &matcher{re: re, rg: rg, rgRegex: asciiBoundaries(canonical)}, nil
}

func invalid(pattern string, err error) error {
	msg := fmt.Sprintf("%q is not a valid regular expression: %v.", pattern, err)
	var e *syntax.Error
	if errors.As(err, &e) && e.Code == syntax.ErrInvalidPerlOp {
		msg += " Lookaround and backreferences are not supported."
	} else {
		msg += " To search for these characters as they are, write " + strconv.Quote(regexp.QuoteMeta(pattern)) + "."
	}
	return fault.New(fault.Invalid, msg)
}

// breaksLine reports whether the pattern can only match with a line break.
func breaksLine(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, breaksLine)
}

// anchorToLines makes \A and \z mean the start and end of a line: otherwise the
// engines differ.
func anchorToLines(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	}
	for _, sub := range re.Sub {
		anchorToLines(sub)
	}
}

// asciiBoundaries makes \b and \B mean the same in Rust's engine, which
// otherwise takes words as Unicode does.
func asciiBoundaries(re string) string {
	var b strings.Builder
	for i := 0; i < len(re); i++ {
		if re[i] != '\\' || i+1 == len(re) {
			b.WriteByte(re[i])
			continue
		}
		i++
		if re[i] == 'b' || re[i] == 'B' {
			b.WriteString(`(?-u:\` + re[i:i+1] + `)`)
		} else {
			b.WriteString(re[i-1 : i+1])
		}
	}
	return b.String()
}

// match calls found with the files that match and are text.
func (m *matcher) match(ctx context.Context, files []string, found func(string)) error {
	if m.rg != "" {
		hits, err := m.ripgrep(ctx, files)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			for _, path := range hits {
				if isText(path) {
					found(path)
				}
			}
			return nil
		}
	}
	for _, path := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.matchFile(path) {
			found(path)
		}
	}
	return nil
}

// ripgrep returns the files that match. On an error it may not have searched all
// of them.
func (m *matcher) ripgrep(ctx context.Context, files []string) ([]string, error) {
	args := append([]string{
		"--no-config", "--no-messages", "--no-ignore", "--hidden", "--text", "--encoding=none", "--color=never",
		"--max-filesize=" + strconv.Itoa(MaxFileSize), "--engine=default", "--case-sensitive",
		"--files-with-matches", "--null", "--regexp=" + m.rgRegex, "--",
	}, files...)
	cmd := exec.CommandContext(ctx, m.rg, args...)
	cmd.Env = []string{"LC_ALL=C.UTF-8"} // no RIPGREP_CONFIG_PATH, no secrets
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr // at most the names that went in
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2 && stderr.Len() == 0) {
		err = nil // 1: no match; 2 without a message: some file was unreadable
	}
	if err != nil {
		return nil, fmt.Errorf("run ripgrep: %w", err)
	}
	var hits []string
	for name := range strings.SplitSeq(stdout.String(), "\x00") {
		if name != "" {
			hits = append(hits, name)
		}
	}
	return hits, nil
}

// open opens a file to search in, or returns nil: anything that is not a regular
// file any more, too large or unreadable is passed over.
func open(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxFileSize {
		_ = f.Close() // nothing was written
		return nil
	}
	return f
}

// isText reports whether the beginning of a file has no NUL; git detects binary
// files in the same way.
func isText(path string) bool {
	f := open(path)
	if f == nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	var buf [binaryProbe]byte
	n, err := io.ReadFull(f, buf[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false
	}
	return bytes.IndexByte(buf[:n], 0) < 0
}

// matchFile is the search without ripgrep.
func (m *matcher) matchFile(path string) bool {
	f := open(path)
	if f == nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	r := bufio.NewReaderSize(f, 64<<10)
	probe, err := r.Peek(binaryProbe)
	if err != nil && len(probe) == 0 || bytes.IndexByte(probe, 0) >= 0 {
		return false
	}
	var line []byte
	for read := 0; read <= MaxFileSize; {
		part, err := r.ReadSlice('\n')
		read += len(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			line = append(line, part...) // bounded by MaxFileSize
			continue
		}
		if len(line) > 0 {
			part = append(line, part...)
		}
		if len(part) > 0 && m.re.Match(bytes.TrimSuffix(part, []byte("\n"))) {
			return true
		}
		line = line[:0]
		if err != nil {
			return false
		}
	}
	return false
}
