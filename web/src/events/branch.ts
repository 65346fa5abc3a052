import type { Event } from '../api/event';
import type { Branches } from '../api/events';

// Events make a tree: each names the one that it follows. A rewind goes back to an earlier
// one, and the next event begins another branch.

// beginning stands for the place before the first event.
export const beginning = '__root__';

// Path is where a conversation is: head is the event that the next one follows, and last the
// newest event of all branches; null where none was seen. Branched: some event does not
// follow the one before it.
export interface Path {
  head: string | null;
  last: string | null;
  branched: boolean;
  placed?: Placed; // of events that are not followed by the head
}

export interface Placed extends Branches {
  event: string;
}

export const noPath: Path = { head: null, last: null, branched: false };

// inTree reports whether an event is on a branch; changes of state are on none.
export const inTree = (e: Event): boolean => e.kind !== 'ConversationStateUpdateEvent';

// go moves a path by the next stored event.
export function go(path: Path, e: Event): Path {
  if (e.kind === 'ConversationStateUpdateEvent') {
    return e.key === 'leaf_event_id' ? { ...path, head: typeof e.value === 'string' ? e.value : beginning } : path;
  }
  const branched = path.branched || (path.last !== null && e.parent_id !== undefined && e.parent_id !== path.last);
  return { ...path, head: e.id, last: e.id, branched };
}

// behind is the path of events, once older ones were put before them.
export function behind(path: Path, events: Event[], older: Event[]): Path {
  if (path.head === null || path.last === null) return older.concat(events).reduce(go, { ...noPath, placed: path.placed });
  const before = older.reduce(go, noPath);
  const first = events.find(inTree);
  const leap = before.last !== null && first?.parent_id !== undefined && first.parent_id !== before.last;
  return { ...path, branched: path.branched || before.branched || leap };
}

const none: ReadonlySet<string> = new Set();

// undone returns the ids of the events that are on other branches than the head's.
export function undone(events: Event[], { head, last, branched, placed }: Path): ReadonlySet<string> {
  if (placed) return outside(events, placed);
  if (head === null || (!branched && head === last)) return none;
  const gone = new Set<string>();
  let wanted: string | null = head; // null: whatever comes next
  for (const e of events.toReversed()) {
    if (!inTree(e)) continue;
    if (wanted !== null && e.id !== wanted) gone.add(e.id);
    else wanted = e.parent_id ?? null;
  }
  return gone;
}

// outside returns the ids of events that are in no active part. The events have no gap.
function outside(events: Event[], { event, at, active }: Placed): ReadonlySet<string> {
  if (active.length === 1 && active[0]?.[0] === 1) return none;
  const gone = new Set<string>();
  const first = at - events.findIndex((e) => e.id === event);
  for (const [i, e] of events.entries()) {
    if (inTree(e) && !active.some(([from, to]) => from <= first + i && first + i <= to)) gone.add(e.id);
  }
  return gone;
}
