// Package permission keeps what users have answered about files of projects that name programs,
// such as hooks and MCP servers. An answer is for one content of the file: another content is a
// new question.
//
// # Usage
//
//	s := permission.Open(dir, nil)
//	q := permission.Question{Project: dir, File: ".openhands/hooks.json", Content: raw}
//	a, err := s.Answer(q)
//	err = s.Keep(ctx, q, permission.Allowed)
//
// # Concurrency and failure
//
// Everything is safe for concurrent use, between processes as well. A file of answers that
// cannot be read is an error of kind fault.Corrupt: nothing is allowed then.
package permission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
)

// Answer is what a user has answered.
type Answer string

// The answers to a [Question].
const (
	None    Answer = ""
	Allowed Answer = "allowed"
	Refused Answer = "refused"
)

// Question asks whether the programs that a file names may run.
type Question struct {
	// Project is the directory or the repository that has the file.
	Project string
	// File is the path of the file in the project.
	File    string
	Content []byte
	// Unsandboxed says that the programs run without a sandbox. A yes for the sandbox is none
	// for that.
	Unsandboxed bool
}

// Sum names a content.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (q Question) key() string {
	key := q.File + ": " + q.Project
	if q.Unsandboxed {
		key = "no sandbox: " + key
	}
	return key
}

// refused stands before the hash of a content that the user has refused.
const refused = "not "

// answers are hashes of contents by file.
const answers = "answers"

var described = &schema.Object{Fields: []schema.Field{
	{Name: answers, Type: schema.Dict{Of: schema.String{}}, Default: func() any { return schema.NewMap() }},
}}

// Store has the answers of one user.
type Store struct{ kept *filestore.Document }

// Open returns the answers that are kept in a directory. files is nil for one of this machine.
func Open(dir string, files filestore.Files) *Store {
	return &Store{&filestore.Document{
		Path: filepath.Join(dir, "project_answers.json"), Lock: ".project_answers.lock", Schema: described, Files: files,
	}}
}

// Answer returns the answer to a question.
func (s *Store) Answer(q Question) (Answer, error) {
	m, err := s.kept.Read()
	if err != nil {
		return None, fault.Wrap(err, fault.Corrupt, "read which files of projects are allowed")
	}
	given := m.Object(answers).Text(q.key())
	switch hash, no := strings.CutPrefix(given, refused); {
	case hash != Sum(q.Content):
		return None, nil
	case no:
		return Refused, nil
	}
	return Allowed, nil
}

// Keep keeps an answer, in the place of an earlier one about the file; [None] takes it away.
func (s *Store) Keep(ctx context.Context, q Question, a Answer) error {
	err := s.kept.Change(ctx, func(m *schema.Map) error {
		all := m.Object(answers).Copy()
		switch a {
		case Allowed:
			all.Set(q.key(), Sum(q.Content))
		case Refused:
			all.Set(q.key(), refused+Sum(q.Content))
		default:
			all.Delete(q.key())
		}
		m.Set(answers, all)
		return nil
	})
	return fault.Wrap(err, fault.Denied, "keep the answer about the project")
}
