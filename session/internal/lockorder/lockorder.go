// Package lockorder has the locks of package session, and the order in which they are taken. A
// goroutine that holds one takes later ones only:
//
//  0. [Answering]: the user's answers to questions are recorded.
//  1. [Slot]: one goroutine loads, makes, closes or deletes a conversation. A child's slot is
//     taken before its parent's.
//  2. [Opening]: the worker starts or ends. A host's is taken before its guests'. The
//     session.Lock between processes is acquired while a goroutine holds it.
//  3. [Switching]: the agent gets another LLM.
//  4. [Publishing]: a state is made and published, or a run begins.
//  5. [Configuration]: the part of a conversation that is stored beside its events. The
//     controller takes it during an append, to mask events; so nobody appends while holding it.
//  6. [Manager]: the tables of live conversations and paused sandboxes.
//  7. [Part]: the parts of a worker: models, guests, tasks, answers, outputs.
//  8. [Hub]: the watchers, which are called while it is held.
//
// The semaphore of checkpoints (checkpointer.taking) comes between 2 and 5.
//
// # Usage
//
//	mu lockorder.Mutex[lockorder.Configuration]
//
// # Concurrency and failure
//
// A [Mutex] is a sync.Mutex. In builds with the race detector, Lock panics if the order is
// not kept.
package lockorder

// Place is the place of a lock in the order.
type Place interface{ place() int }

type (
	// Answering is held while answers of the user are recorded.
	Answering struct{}
	// Slot is a conversation's place in the table of live ones.
	Slot struct{}
	// Opening is held while a worker starts or ends.
	Opening struct{}
	// Switching is held while an agent gets another LLM.
	Switching struct{}
	// Publishing is held while a state is made and published, and while a run begins.
	Publishing struct{}
	// Configuration guards the part of a conversation that is stored beside its events.
	Configuration struct{}
	// Manager guards the tables of a manager.
	Manager struct{}
	// Part guards a part of a worker.
	Part struct{}
	// Hub guards the watchers.
	Hub struct{}
)

func (Answering) place() int     { return 0 }
func (Slot) place() int          { return 1 }
func (Opening) place() int       { return 2 }
func (Switching) place() int     { return 3 }
func (Publishing) place() int    { return 4 }
func (Configuration) place() int { return 5 }
func (Manager) place() int       { return 6 }
func (Part) place() int          { return 7 }
func (Hub) place() int           { return 8 }
