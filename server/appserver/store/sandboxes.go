package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Sandbox is where conversations of an owner work together: a workspace, and a
// session key that opens the agent-server contract for them.
type Sandbox struct {
	ID         string
	Owner      string
	Spec       string // the id of the specification that it was made from
	Paused     bool   // by its user
	SessionKey string
	Directory  string // of its workspace, absolute
	Created    time.Time
	Used       time.Time // when a conversation was last started in it
}

// BrowserKey is the session key that browsers get. It opens the contract as the other one does,
// and is derived from it; only what programs inside may ask for it does not give.
func (b Sandbox) BrowserKey() string {
	sum := hmac.New(sha256.New, []byte(b.SessionKey))
	sum.Write([]byte("browser"))
	return b.ID + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

const sandboxColumns = "id, owner, spec, paused, key_sealed, directory, created_at, used_at"

// AddSandbox stores a new sandbox. Conflict if its id is taken, RateLimit if its owner has
// most of them already; 0 is for no limit. That holds for servers that add at the same time.
func (s *Store) AddSandbox(ctx context.Context, b Sandbox, most int) error {
	sealed, err := s.ring.Seal([]byte(b.SessionKey))
	if err != nil {
		return err
	}
	return s.change(ctx, func(t tx) error {
		if most > 0 {
			if err := t.checkMost(b, most); err != nil {
				return err
			}
		}
		r, err := t.exec("INSERT INTO app_sandboxes (id, owner, spec, paused, key_hash, key_sealed, directory, created_at, used_at) VALUES ("+marks(9)+") ON CONFLICT (id) DO NOTHING",
			b.ID, b.Owner, b.Spec, flag(b.Paused), Hash(b.SessionKey), sealed, b.Directory, micro(b.Created), micro(b.Used))
		if err := affected(r, err, "free sandbox id", b.ID); fault.Is(err, fault.NotFound) {
			return sandboxExists(b.ID)
		} else if err != nil {
			return err
		}
		return nil
	})
}

func sandboxExists(id string) error {
	return fault.New(fault.Conflict, "the sandbox "+id+" exists")
}

// checkMost refuses a sandbox too many. Until the transaction ends no other one of the owner
// is added: a SQLite database has one transaction that writes, and PostgreSQL a lock.
func (t tx) checkMost(b Sandbox, most int) error {
	if err := t.lockOwner(b.Owner); err != nil {
		return err
	}
	var have, same int
	if err := t.row("SELECT count(*), coalesce(sum(CASE WHEN id = ? THEN 1 ELSE 0 END), 0) FROM app_sandboxes WHERE owner = ?", b.ID, b.Owner).Scan(&have, &same); err != nil {
		return err
	}
	switch {
	case same > 0: // it needs no place of its own
		return sandboxExists(b.ID)
	case have >= most:
		return fault.New(fault.RateLimit, "you have as many sandboxes as you may have").Hint("delete one that you do not need")
	}
	return nil
}

// lockOwner blocks transactions that count this owner's sandboxes until this one ends. In
// SQLite they wait anyway.
func (t tx) lockOwner(owner string) error {
	if t.engine != PostgreSQL {
		return nil
	}
	_, err := t.exec("SELECT pg_advisory_xact_lock(hashtextextended(?, 7236022))", owner)
	return err
}

// Sandbox returns a sandbox of an owner, NotFound if there is none.
func (s *Store) Sandbox(ctx context.Context, owner, id string) (Sandbox, error) {
	return one(s.on(ctx), s.sandbox, missing("sandbox", id), "SELECT "+sandboxColumns+" FROM app_sandboxes WHERE id = ? AND owner = ?", id, owner)
}

// SandboxOfKey returns the sandbox that a session key opens, also that of browsers. Auth if
// there is none.
func (s *Store) SandboxOfKey(ctx context.Context, key string) (Sandbox, error) {
	hash := Hash(key)
	b, ok, changes := s.keys.get(hash)
	if ok {
		return b, nil
	}
	unknown := fault.New(fault.Auth, "the session key is no sandbox's")
	column, value := "key_hash", hash
	id, _, ofBrowser := strings.Cut(key, ".")
	if ofBrowser {
		column, value = "id", id
	}
	b, err := one(s.on(ctx), s.sandbox, unknown, "SELECT "+sandboxColumns+" FROM app_sandboxes WHERE "+column+" = ?", value)
	if err == nil && ofBrowser && !hmac.Equal([]byte(key), []byte(b.BrowserKey())) {
		return Sandbox{}, unknown
	}
	if err == nil {
		s.keys.put(hash, b, changes)
	}
	return b, err
}

// SandboxOfConversation returns the sandbox of a conversation of any owner, for a client
// that is going to show its key. NotFound if there is none.
func (s *Store) SandboxOfConversation(ctx context.Context, id string) (Sandbox, error) {
	columns := strings.ReplaceAll("b."+sandboxColumns, ", ", ", b.")
	return one(s.on(ctx), s.sandbox, missing("sandbox of the conversation", id),
		"SELECT "+columns+" FROM app_sandboxes b JOIN app_conversations c ON c.sandbox = b.id AND c.owner = b.owner WHERE c.id = ?", id)
}

// Sandboxes returns one page of an owner's sandboxes, the newest first, and where the
// next one begins ("" on the last). Those whose session key no key opens are left out.
func (s *Store) Sandboxes(ctx context.Context, owner, page string, limit int) (_ []Sandbox, next string, err error) {
	before, id := parsePage(page)
	found, err := all(s.on(ctx), evenSealed(s.sandbox), "SELECT "+sandboxColumns+" FROM app_sandboxes WHERE owner = ? AND (created_at < ? OR created_at = ? AND id <= ?) ORDER BY created_at DESC, id DESC LIMIT ?",
		owner, before, before, id, limit+1)
	found, next = paged(found, limit, func(b Sandbox) (time.Time, string) { return b.Created, b.ID })
	return slices.DeleteFunc(found, func(b Sandbox) bool { return b.SessionKey == "" }), next, err
}

// SetSandboxPaused notes that a user has paused a sandbox, or resumed it.
func (s *Store) SetSandboxPaused(ctx context.Context, owner, id string, paused bool) error {
	defer s.keys.changed()
	r, err := s.on(ctx).exec("UPDATE app_sandboxes SET paused = ? WHERE id = ? AND owner = ?", flag(paused), id, owner)
	return affected(r, err, "sandbox", id)
}

// MoveSandbox notes that the workspace of a sandbox is another directory.
func (s *Store) MoveSandbox(ctx context.Context, owner, id, dir string) error {
	defer s.keys.changed()
	r, err := s.on(ctx).exec("UPDATE app_sandboxes SET directory = ? WHERE id = ? AND owner = ?", dir, id, owner)
	return affected(r, err, "sandbox", id)
}

// UseSandbox notes that a conversation was started in a sandbox.
func (s *Store) UseSandbox(ctx context.Context, owner, id string, when time.Time) error {
	defer s.keys.changed()
	r, err := s.on(ctx).exec("UPDATE app_sandboxes SET used_at = ? WHERE id = ? AND owner = ?", micro(when), id, owner)
	return affected(r, err, "sandbox", id)
}

// DeleteSandbox deletes the record of a sandbox. The records of its conversations
// stay.
func (s *Store) DeleteSandbox(ctx context.Context, owner, id string) error {
	defer s.keys.changed()
	return s.change(ctx, func(t tx) error {
		r, err := t.exec("DELETE FROM app_sandboxes WHERE id = ? AND owner = ?", id, owner)
		if err := affected(r, err, "sandbox", id); err != nil {
			return err
		}
		_, err = t.exec("DELETE FROM app_sandbox_secrets WHERE sandbox = ?", id)
		return err
	})
}

// GiveSecrets notes that a sandbox may read secrets of its owner by these names.
func (s *Store) GiveSecrets(ctx context.Context, owner, id string, names []string) error {
	return s.change(ctx, func(t tx) error {
		for _, name := range names {
			_, err := t.exec("INSERT INTO app_sandbox_secrets (sandbox, name) SELECT id, ? FROM app_sandboxes WHERE id = ? AND owner = ? ON CONFLICT (sandbox, name) DO NOTHING", name, id, owner)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// GivenSecrets returns the names of the secrets that a sandbox may read, sorted.
func (s *Store) GivenSecrets(ctx context.Context, owner, id string) ([]string, error) {
	return all(s.on(ctx), value[string], "SELECT g.name FROM app_sandbox_secrets g JOIN app_sandboxes b ON b.id = g.sandbox WHERE b.id = ? AND b.owner = ? ORDER BY g.name", id, owner)
}

func (s *Store) sandbox(row scanner) (b Sandbox, err error) {
	var sealed string
	if err := row.Scan(&b.ID, &b.Owner, &b.Spec, &b.Paused, &sealed, &b.Directory, stored{&b.Created}, stored{&b.Used}); err != nil {
		return Sandbox{}, err
	}
	key, err := s.unseal(sealed)
	b.SessionKey = string(key)
	return b, err
}

// Hash returns the form in which secrets are stored that are only compared.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
