package historycache

// Form describes a protocol in which the blocks of the leading system messages
// are separate and all others are in alternating turns.
type Form struct {
	System    string // opens the list of the system's blocks: `"system":[`
	EndSystem string // closes it: `],`
	Turns     string // opens the list of turns: `"messages":[`
	Blocks    string // names the blocks of a turn: `content`
}

// Turns is the position in a history of a Form. An adapter's writer has it in
// its state.
type Turns struct {
	System bool   // the list of the system's blocks is begun
	Begun  bool   // the list of turns is begun
	Role   string // of the last turn
}

// BeginSystem appends the text before another block of the system prompt.
func (t Turns) BeginSystem(dst []byte, f *Form) ([]byte, Turns) {
	if t.System {
		return append(dst, ','), t
	}
	t.System = true
	return append(dst, f.System...), t
}

// Begin appends the text before another block of a role.
func (t Turns) Begin(dst []byte, f *Form, role string) ([]byte, Turns) {
	if !t.Begun {
		if t.System {
			dst = append(dst, f.EndSystem...)
		}
		dst, t.Begun = append(dst, f.Turns...), true
	}
	switch t.Role {
	case role:
		return append(dst, ','), t
	case "":
	default:
		dst = append(dst, "]},"...)
	}
	dst = append(append(append(dst, `{"role":"`...), role...), `","`...)
	t.Role = role
	return append(append(dst, f.Blocks...), `":[`...), t
}

// End closes a history with at least one turn.
func (t Turns) End(dst []byte) []byte { return append(dst, "]}]"...) }

// AppendMember appends a name with its punctuation, and a text.
func AppendMember(dst []byte, name, value string) []byte {
	return AppendString(append(dst, name...), value)
}
