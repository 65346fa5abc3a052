package session

// The locks of this package, in the order in which they are taken. A goroutine that holds one
// takes later ones only. Builds with the race detector check it (lockorder_race.go).
//
//  1. slot: one goroutine loads, makes, closes or deletes a conversation. A child's slot is
//     taken before its parent's.
//  2. opening: the worker starts or ends. A host's is taken before its guests'.
//     The [Lock] between processes is acquired while a goroutine holds it.
//  3. switching: the agent gets another LLM.
//  4. making: a state is made and published, or a run begins.
//  5. configuration: the stored part. The controller takes it during an append, to mask events;
//     so nobody appends while holding it.
//  6. manager: the tables of live conversations and paused sandboxes.
//  7. parts of a worker: models, guests, tasks, answers, outputs.
//  8. hub: the watchers, which are called while it is held.
//
// The semaphore of checkpoints (checkpointer.taking) comes after opening and before
// configuration.

// order is the place of a lock in the list above.
type order interface{ place() int }

type (
	slotOrder          struct{}
	openingOrder       struct{}
	switchingOrder     struct{}
	makingOrder        struct{}
	configurationOrder struct{}
	managerOrder       struct{}
	partOrder          struct{}
	hubOrder           struct{}
)

func (slotOrder) place() int          { return 1 }
func (openingOrder) place() int       { return 2 }
func (switchingOrder) place() int     { return 3 }
func (makingOrder) place() int        { return 4 }
func (configurationOrder) place() int { return 5 }
func (managerOrder) place() int       { return 6 }
func (partOrder) place() int          { return 7 }
func (hubOrder) place() int           { return 8 }
