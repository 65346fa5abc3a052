package event

// The registered kinds, sorted.
func EventKinds() []string       { return events.kinds() }
func ActionKinds() []string      { return actions.kinds() }
func ObservationKinds() []string { return observations.kinds() }

// NewOfKind returns a fresh value of a registered kind, or nil.
func NewOfKind(kind string) any {
	if mk := events.get(kind); mk != nil {
		return mk()
	}
	if mk := actions.get(kind); mk != nil {
		return mk()
	}
	if mk := observations.get(kind); mk != nil {
		return mk()
	}
	return nil
}
