// From the events of a conversation to what its page shows: a reducer without
// side effects. Events come in batches, so that 200 a second cost one copy of
// the list a frame.
import type { Status } from '../api/source';
import { behind, go, noPath, type Path } from './branch';
import { imagesOf, stored, textOf, type ActionEvent, type Event } from './event';
import type { ActionItem, Item, Outcome } from './item';
import { readUsage, type Usage } from './usage';

export interface Task {
  title: string;
  notes: string;
  status: string;
}

// Goal is what the agent works on in rounds, until a judge says that it is reached.
export interface Goal {
  active: boolean;
  status: string;
  iteration: number;
  max_iterations: number;
  objective: string;
  verdict: { score: number; complete: boolean; missing: string } | null;
}

export interface Timeline {
  events: Event[]; // stored events in order, without doubles
  items: Item[];
  draft: { text: string; reasoning: string } | null; // what the model is writing
  status: Status;
  retry: { attempt: number; attempts: number; detail: string } | null; // of the model's call
  usage: Usage;
  model: string;
  directory: string;
  plan: Task[];
  goal: Goal | null; // the newest one
  cursor: string | null; // timestamp of the newest stored event
  path: Path;
}

export const empty: Timeline = {
  events: [],
  items: [],
  draft: null,
  status: 'idle',
  retry: null,
  usage: readUsage(null),
  model: '',
  directory: '',
  plan: [],
  goal: null,
  cursor: null,
  path: noPath,
};

// append adds events that came after those of the timeline. Events that are
// there already are dropped.
export function append(timeline: Timeline, events: Event[]): Timeline {
  const next = { ...timeline };
  const ids = idsOf(timeline);
  const fresh: Event[] = [];
  for (const e of events) {
    if (stored(e)) {
      if (ids.has(e.id)) continue;
      ids.add(e.id);
      fresh.push(e);
      next.path = go(next.path, e);
      if (next.cursor === null || e.timestamp > next.cursor) next.cursor = e.timestamp;
    }
    follow(next, e);
  }
  if (fresh.length > 0) {
    next.events = timeline.events.concat(fresh);
    next.items = addItems(timeline.items, fresh);
    known.set(next.events, ids);
  }
  return next;
}

// prepend adds an older window, in order. It changes nothing that is live:
// status, usage and draft are those of the newest events.
export function prepend(timeline: Timeline, older: Event[]): Timeline {
  const ids = idsOf(timeline);
  const fresh = older.filter((e) => stored(e) && !ids.has(e.id));
  if (fresh.length === 0) return timeline;
  for (const e of fresh) ids.add(e.id);
  const events = fresh.concat(timeline.events);
  known.set(events, ids);
  // Results may belong to actions of the older window.
  const path = behind(timeline.path, timeline.events, fresh);
  return { ...timeline, events, items: addItems([], events), path, plan: timeline.plan.length ? timeline.plan : lastPlan(fresh) };
}

// The ids of a list of events; kept, as building the set again would cost as
// much as the list is long.
const known = new WeakMap<Event[], Set<string>>();

function idsOf(timeline: Timeline): Set<string> {
  let ids = known.get(timeline.events);
  if (!ids) {
    ids = new Set(timeline.events.map((e) => e.id));
    if (timeline.events.length > 0) known.set(timeline.events, ids);
  }
  return ids;
}

// follow updates what is live: status, usage, draft, plan.
function follow(t: Timeline, e: Event): void {
  switch (e.kind) {
    case 'StreamingDeltaEvent':
      t.draft = { text: (t.draft?.text ?? '') + (e.content ?? ''), reasoning: (t.draft?.reasoning ?? '') + (e.reasoning_content ?? '') };
      t.retry = null;
      break;
    case 'ActionEvent':
    case 'MessageEvent':
      if (e.source === 'agent') t.draft = null;
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
      if (value !== 'running') {
        t.draft = null;
        t.retry = null;
      }
      break;
    case 'stats':
      t.usage = readUsage(value);
      break;
    case 'agent':
      t.model = (value as { llm?: { model?: string } } | null)?.llm?.model ?? t.model;
      break;
    case 'workspace':
      t.directory = (value as { working_dir?: string } | null)?.working_dir ?? t.directory;
      break;
    case 'goal':
      t.goal = value && typeof (value as Goal).objective === 'string' ? (value as Goal) : null;
      break;
    case 'llm_retry': {
      const retry = value as { attempt: number; attempts: number; detail: string };
      t.retry = { attempt: retry.attempt, attempts: retry.attempts, detail: retry.detail };
      t.draft = null;
      break;
    }
  }
}

function addItems(items: Item[], events: Event[]): Item[] {
  const next = items.slice();
  for (const e of events) addItem(next, e);
  return next;
}

function addItem(items: Item[], e: Event): void {
  switch (e.kind) {
    case 'MessageEvent': {
      const from = e.llm_message.role === 'user' ? 'user' : 'agent';
      const text = textOf(e.llm_message.content);
      const images = imagesOf(e.llm_message.content);
      if (!text && images.length === 0) return;
      if (from === 'user' && e.source === 'environment') return note(items, e, 'The agent was told', text);
      items.push({ type: 'message', id: e.id, time: e.timestamp, from, text, images, reasoning: e.llm_message.reasoning_content ?? '' });
      return;
    }
    case 'ActionEvent':
      addAction(items, e);
      return;
    case 'ObservationEvent':
      settle(items, e.action_id, e.id, e.tool_name, { state: 'done', time: e.timestamp, observation: e.observation });
      return;
    case 'UserRejectObservation':
      settle(items, e.action_id, e.id, e.tool_name, {
        state: 'rejected',
        time: e.timestamp,
        reason: e.rejection_reason,
        by: e.rejection_source ?? 'user',
      });
      return;
    case 'AgentErrorEvent': {
      const outcome: Outcome = { state: 'failed', time: e.timestamp, error: e.error };
      const at = findLast(items, (i) => i.action.tool_call_id === e.tool_call_id);
      if (at >= 0) items[at] = { ...(items[at] as ActionItem), outcome };
      else items.push({ type: 'result', id: e.id, time: e.timestamp, tool: e.tool_name, outcome });
      return;
    }
    case 'SecurityAnalysisEvent':
      for (const [id, risk] of Object.entries(e.risks)) {
        const at = findLast(items, (i) => i.id === id);
        if (at >= 0) items[at] = { ...(items[at] as ActionItem), risk };
      }
      return;
    case 'ConversationErrorEvent': {
      const cure = e.classification?.user_action;
      items.push({
        type: 'error',
        id: e.id,
        time: e.timestamp,
        code: e.code,
        detail: e.detail,
        cure: cure === 'retry' || cure === 'settings' ? cure : 'none',
      });
      return;
    }
    case 'Condensation':
      note(items, e, `${e.forgotten_event_ids.length} earlier events were summarised for the model`, e.summary ?? '');
      return;
    case 'PauseEvent':
      note(items, e, 'Paused', '');
      return;
    case 'InterruptEvent':
      note(items, e, 'Stopped', '');
      return;
    case 'HookExecutionEvent':
      note(
        items,
        e,
        `Hook ${e.hook_event_type} ${e.blocked ? 'blocked the action' : e.success ? 'succeeded' : 'failed'}`,
        [e.hook_command, e.reason, e.stdout, e.stderr].filter(Boolean).join('\n'),
      );
      return;
  }
}

function note(items: Item[], e: Event, text: string, detail: string): void {
  items.push({ type: 'note', id: e.id, time: e.timestamp, text, detail });
}

function addAction(items: Item[], e: ActionEvent): void {
  const said = textOf(e.thought);
  let reasoning = e.reasoning_content ?? '';
  if (e.action?.kind === 'FinishAction') {
    const text = [said, String(e.action.message ?? '')].filter(Boolean).join('\n\n');
    items.push({ type: 'message', id: e.id, time: e.timestamp, from: 'agent', text, images: [], reasoning });
    return;
  }
  if (said) {
    items.push({ type: 'message', id: `${e.id}:thought`, time: e.timestamp, from: 'agent', text: said, images: [], reasoning });
    reasoning = '';
  }
  if (e.action?.kind === 'ThinkAction') {
    reasoning = [reasoning, String(e.action.thought ?? '')].filter(Boolean).join('\n\n');
    items.push({ type: 'message', id: e.id, time: e.timestamp, from: 'agent', text: '', images: [], reasoning });
    return;
  }
  items.push({ type: 'action', id: e.id, time: e.timestamp, action: e, reasoning, risk: e.security_risk ?? 'UNKNOWN', outcome: null });
}

// settle gives an action its outcome. Outcomes of finish and think say nothing.
function settle(items: Item[], actionId: string, id: string, tool: string, outcome: Outcome): void {
  if (outcome.state === 'done' && ['finish', 'think'].includes(tool)) return; // shown as messages
  const at = findLast(items, (i) => i.id === actionId);
  if (at >= 0) {
    items[at] = { ...(items[at] as ActionItem), outcome };
  } else if (!['finish', 'think'].includes(tool)) {
    items.push({ type: 'result', id, time: outcome.time, tool, outcome });
  }
}

// farthest is how many items an outcome may be behind its action.
const farthest = 1000;

function findLast(items: Item[], matches: (item: ActionItem) => boolean): number {
  for (let i = items.length - 1, end = Math.max(0, items.length - farthest); i >= end; i--) {
    const item = items[i];
    if (item?.type === 'action' && matches(item)) return i;
  }
  return -1;
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
  for (const item of timeline.items.toReversed()) {
    if (item.type === 'action' && item.outcome === null) found.unshift(item);
    else if (item.type === 'action' || (item.type === 'message' && item.from === 'user')) break;
  }
  return found;
}
