package workspacescope

// CheckProject says whether a project's directory, which a request without a conversation
// names, can be read on this machine; nil stands for always.
type CheckProject func(dir string) error

// Check returns the error that the request is answered with; nil also where no project
// is asked for.
func (c CheckProject) Check(wanted bool, dir string) error {
	if c == nil || !wanted || dir == "" {
		return nil
	}
	return c(dir)
}
