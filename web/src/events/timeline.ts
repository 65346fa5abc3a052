// From the events of a conversation to the content of its page: a reducer without
// side effects. Events come in batches, so that 200 a second cost a copy of the list some
// times a second.
import { isQueue, type Queued } from '../api/queue';
import type { Status } from '../api/summary';
import { grown, isAnswer, type Answer, type Draft } from './answer';
import { behind, go, noPath, type Path } from './branch';
import { stored, type ActionEvent, type Event } from '../api/event';
import type { ActionItem, Item } from './item';
import { after, before, newIndex, type Index } from './items';
import { readUsage, type Usage } from './usage';

export interface Task {
  title: string;
  notes: string;
  status: string;
}

// Goal is an objective: the agent works in rounds, until a judge says that it is reached.
export interface Goal {
  active: boolean;
  status: string;
  iteration: number;
  max_iterations: number;
  objective: string;
  verdict: { score: number; complete: boolean; missing: string } | null;
}

// Retry is a call of the model that failed and is made again: by another model, with a change, or
// as it was.
export interface Retry {
  model?: string;
  next_model?: string;
  change?: string; // in words after "asking again"
  attempt?: number; // that failed
  attempts?: number;
  detail: string;
}

export interface Timeline {
  events: Event[]; // stored events in order, without doubles
  items: Item[];
  draft: Draft | null; // the unfinished answer of the model
  status: Status;
  retry: Retry | null; // of the model's call
  queue: Queued[]; // messages that wait until the agent has ended
  unsent: string; // why the first of them could not be sent; empty: nothing went wrong
  stats: unknown; // as the server has sent them
  usage: Usage; // of the stats
  model: string;
  service: string; // that the calls of the agent's model are counted under
  directory: string;
  plan: Task[];
  goal: Goal | null; // the newest one
  answered: number; // how often questions were answered while this was open
  allowed: string[]; // actions that the user has allowed, and that wait for the answers to others
  hooks: number; // how often the project's hooks, or the answer about them, have changed
  sandboxEnds: number; // how often its sandbox has ended while this was open
  cursor: string | null; // timestamp of the newest stored event
  path: Path;
}

export const empty: Timeline = {
  events: [],
  items: [],
  draft: null,
  status: 'idle',
  retry: null,
  queue: [],
  unsent: '',
  stats: null,
  usage: readUsage(null),
  model: '',
  service: '',
  directory: '',
  plan: [],
  goal: null,
  answered: 0,
  allowed: [],
  hooks: 0,
  sandboxEnds: 0,
  cursor: null,
  path: noPath,
};

// append adds newer events to a timeline, and parts of the unfinished answer. Known events are
// dropped.
export function append(timeline: Timeline, events: (Event | Answer)[]): Timeline {
  const next = { ...timeline };
  const known = take(timeline);
  const fresh: Event[] = [];
  for (const e of events) {
    if (isAnswer(e)) {
      if (!known.ids.has(e.item_id)) write(next, e);
      continue;
    }
    if (stored(e)) {
      if (known.ids.has(e.id)) continue;
      known.ids.add(e.id);
      fresh.push(e);
      next.path = go(next.path, e);
      if (next.cursor === null || e.timestamp > next.cursor) next.cursor = e.timestamp;
    }
    follow(next, e);
  }
  if (fresh.length > 0) {
    next.events = timeline.events.concat(fresh);
    next.items = after(timeline.items, known.index, fresh);
  }
  give(next, known);
  return next;
}

// prepend adds an older window, in order. It changes nothing live: status, usage and
// draft belong to the newest events. Its cost grows with the window, and includes a copy
// of the two lists.
export function prepend(timeline: Timeline, older: Event[]): Timeline {
  const known = take(timeline);
  const fresh = older.filter((e) => stored(e) && !known.ids.has(e.id));
  if (fresh.length === 0) {
    give(timeline, known);
    return timeline;
  }
  for (const e of fresh) known.ids.add(e.id);
  const next = {
    ...timeline,
    events: fresh.concat(timeline.events),
    items: before(fresh, timeline.items, known.index), // results may belong to actions of the older window
    path: behind(timeline.path, timeline.events, fresh),
    plan: timeline.plan.length ? timeline.plan : lastPlan(fresh),
  };
  give(next, known);
  return next;
}

// join puts an older part before a timeline. There is no event between them and none in both.
// The lines of the older part stay the same objects, and what is live is the timeline's.
export function join(older: Timeline, timeline: Timeline): Timeline {
  const known = take(older);
  for (const e of timeline.events) known.ids.add(e.id);
  const next = {
    ...timeline,
    events: older.events.concat(timeline.events),
    items: after(older.items, known.index, timeline.events),
    path: behind(timeline.path, timeline.events, older.events),
    plan: timeline.plan.length ? timeline.plan : older.plan,
  };
  give(next, known);
  return next;
}

// has reports whether an event is in a timeline.
export const has = (timeline: Timeline, id: string): boolean => kept.get(timeline.events)?.ids.has(id) ?? timeline.events.some((e) => e.id === id);

// Known has the indexes of a timeline. They move from a timeline to the next one, as making
// them costs as much as the timeline is long; a timeline used twice gets new ones.
interface Known {
  ids: Set<string>;
  index: Index;
}

const kept = new WeakMap<Event[], Known>();

function take(timeline: Timeline): Known {
  const known = kept.get(timeline.events);
  if (known) {
    kept.delete(timeline.events);
    return known;
  }
  const index = newIndex();
  after([], index, timeline.events);
  return { ids: new Set(timeline.events.map((e) => e.id)), index };
}

function give(timeline: Timeline, known: Known): void {
  if (timeline.events !== empty.events) kept.set(timeline.events, known);
}

function write(t: Timeline, answer: Answer): void {
  t.draft = grown(t.draft, answer);
  if (answer.parts.length > 0) t.retry = null;
}

// follow updates the live state: status, usage, draft, plan.
function follow(t: Timeline, e: Event): void {
  switch (e.kind) {
    case 'ActionEvent':
    case 'MessageEvent':
      if (e.id === t.draft?.item) t.draft = null;
      t.retry = null;
      if (e.kind === 'ActionEvent') t.plan = planOf(e) ?? t.plan;
      break;
    case 'ConversationStateUpdateEvent':
      if (e.key === 'full_state') {
        const state = (e.value ?? {}) as Record<string, unknown>;
        setState(t, 'execution_status', state.execution_status);
        setState(t, 'stats', state.stats);
        setState(t, 'agent', state.agent);
        setState(t, 'workspace', state.workspace);
      } else {
        setState(t, e.key, e.value);
      }
      break;
    case 'ServerErrorEvent':
      if (e.code === 'QueuedMessageFailed') t.unsent = e.detail;
      break;
    case 'InterruptEvent':
    case 'PauseEvent':
    case 'ConversationErrorEvent':
      t.draft = null;
      t.retry = null;
      break;
  }
}

function setState(t: Timeline, key: string, value: unknown): void {
  switch (key) {
    case 'execution_status':
      if (typeof value !== 'string') break;
      t.status = value as Status;
      t.unsent = '';
      if (value !== 'running') {
        t.draft = null;
        t.retry = null;
      }
      break;
    case 'stats':
      t.stats = value;
      t.usage = readUsage(value, t.service);
      break;
    case 'agent': {
      const llm = (value as { llm?: { model?: string; usage_id?: string } } | null)?.llm;
      if (!llm) break;
      t.model = llm.model ?? t.model;
      t.service = llm.usage_id ?? '';
      t.usage = readUsage(t.stats, t.service);
      break;
    }
    case 'workspace':
      t.directory = (value as { working_dir?: string } | null)?.working_dir ?? t.directory;
      break;
    case 'goal':
      t.goal = value && typeof (value as Goal).objective === 'string' ? (value as Goal) : null;
      break;
    case 'confirmation_answers':
      t.answered++;
      t.allowed = (value as { once?: string[] } | null)?.once ?? [];
      break;
    case 'queue':
      if (isQueue(value)) t.queue = value;
      break;
    case 'project_hooks':
    case 'project_parts':
      t.hooks++;
      break;
    case 'sandbox':
      t.sandboxEnds++;
      break;
    case 'llm_retry': {
      t.retry = value as Retry;
      t.draft = null;
      break;
    }
  }
}

function planOf(e: ActionEvent): Task[] | null {
  const list = e.action?.kind === 'TaskTrackerAction' ? e.action.task_list : null;
  if (!Array.isArray(list) || list.length === 0) return null;
  return list.map((t: Partial<Task>) => ({ title: String(t.title ?? ''), notes: String(t.notes ?? ''), status: String(t.status ?? 'todo') }));
}

function lastPlan(events: Event[]): Task[] {
  for (const e of events.toReversed()) {
    const plan = e.kind === 'ActionEvent' ? planOf(e) : null;
    if (plan) return plan;
  }
  return [];
}

// pending returns the actions that wait for the user's decision.
export function pending(timeline: Timeline): ActionItem[] {
  if (timeline.status !== 'waiting_for_confirmation') return [];
  const found: ActionItem[] = [];
  for (let i = timeline.items.length - 1; i >= 0; i--) {
    const item = timeline.items[i];
    if (item?.type === 'action' && item.outcome === null) found.push(item);
    else if (item?.type === 'action' || (item?.type === 'message' && item.from === 'user')) break;
  }
  return found.reverse();
}
