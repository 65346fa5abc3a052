// From events to the lines of the page. Later events change the lines of earlier ones: a
// result is shown with its action. A result that comes before its action, in a newer
// window, waits for it, so that no window is read twice.
import { imagesOf, plain, textOf, type ACPToolCall, type ActionEvent, type Event, type HookExecution } from '../api/event';
import { withoutFlags } from '../api/failure';
import { callOf, outcomeOf } from './acp';
import type { ActionItem, Item, Outcome } from './item';
import { plural, tr } from '../i18n/text';
import { verdictDetail, verdictText } from './verdict';

// An Index finds the lines that events change. The first line has the number
// `first`; older lines get lower numbers, so that newer ones keep theirs.
export interface Index {
  first: number;
  lines: Map<string, number>; // of actions, and of results without one, by the event's id
  calls: Map<string, number>; // of the newest action of a tool call
  ofAction: Map<string, Waiting[]>; // changes that wait for an action, in order
  ofCall: Map<string, Waiting[]>;
  went: string; // when the agent went on last, empty: not in these events
  oldest: number; // the orders of events are from oldest to newest - 1
  newest: number;
}

// Waiting is the change of an action by an event that came before the action.
interface Waiting {
  order: number;
  went: string; // as in the index, when the event came
  change: Pick<ActionItem, 'outcome'> | Pick<ActionItem, 'risk'> | Pick<ActionItem, 'outcome' | 'action'>;
  line: string; // the event's id if it has a line of its own as long as it waits, or empty
}

export function newIndex(): Index {
  return { first: 0, lines: new Map(), calls: new Map(), ofAction: new Map(), ofCall: new Map(), went: '', oldest: 0, newest: 0 };
}

// after adds the lines of newer events, and changes the index.
export function after(items: Item[], index: Index, events: Event[]): Item[] {
  const next = items.slice();
  for (const e of events) {
    add(next, index, e, index.newest);
    index.newest++;
  }
  return next;
}

// before adds the lines of older events, and changes the index. The result equals the lines
// of all events at once.
export function before(events: Event[], items: Item[], index: Index): Item[] {
  const window = newIndex();
  window.newest = index.oldest - events.length;
  const older = after([], window, events);

  // Results that have waited for actions of the window lose their own lines.
  const settled = new Set<string>();
  for (const [at, waiting] of found(older, window, index)) {
    for (const { change, went, line } of waiting.sort((a, b) => a.order - b.order)) {
      older[at] = changed(older[at] as ActionItem, change, went || window.went);
      if (line) settled.add(line);
    }
  }
  const rest = settled.size > 0 ? without(items, index, settled) : items;

  for (const waiting of [...index.ofAction.values(), ...index.ofCall.values()].flat()) waiting.went ||= window.went;
  index.went ||= window.went;
  index.first -= older.length;
  index.oldest -= events.length;
  for (const [id, n] of window.lines) index.lines.set(id, n + index.first);
  for (const [call, n] of window.calls) if (!index.calls.has(call)) index.calls.set(call, n + index.first);
  for (const [id, waiting] of window.ofAction) index.ofAction.set(id, waiting.concat(index.ofAction.get(id) ?? []));
  for (const [call, waiting] of window.ofCall) index.ofCall.set(call, waiting.concat(index.ofCall.get(call) ?? []));
  return older.concat(rest);
}

// found takes the changes that wait for actions of the window from the index, by the places
// of the actions.
function found(older: Item[], window: Index, index: Index): Map<number, Waiting[]> {
  const all = new Map<number, Waiting[]>();
  const takeFrom = (from: Map<string, Waiting[]>, key: string, at: number) => {
    const waiting = from.get(key);
    if (!waiting) return;
    from.delete(key);
    all.set(at, (all.get(at) ?? []).concat(waiting));
  };
  for (const [at, item] of older.entries()) {
    if (item.type !== 'action') continue;
    takeFrom(index.ofAction, item.id, at);
    // A call that was made twice is the newer one.
    if (window.calls.get(item.action.tool_call_id) === at) takeFrom(index.ofCall, item.action.tool_call_id, at);
  }
  return all;
}

// without removes lines. Those before them get new numbers; they are few, as the lines of
// results whose actions are in the window before are the first ones.
function without(items: Item[], index: Index, removed: Set<string>): Item[] {
  let end = 0; // behind the last one
  for (const id of removed) {
    end = Math.max(end, (index.lines.get(id) ?? index.first) - index.first + 1);
    index.lines.delete(id);
  }
  const stay: Item[] = [];
  const shift = removed.size;
  for (const [at, item] of items.slice(0, end).entries()) {
    if (removed.has(item.id)) continue;
    const was = index.first + at;
    const now = index.first + shift + stay.length;
    stay.push(item);
    if (index.lines.get(item.id) === was) index.lines.set(item.id, now);
    if (item.type === 'action' && index.calls.get(item.action.tool_call_id) === was) index.calls.set(item.action.tool_call_id, now);
  }
  index.first += shift;
  return stay.concat(items.slice(end));
}

function add(items: Item[], index: Index, e: Event, order: number): void {
  switch (e.kind) {
    case 'MessageEvent': {
      const from = e.llm_message.role === 'user' ? 'user' : 'agent';
      const text = textOf(e.llm_message.content);
      const images = imagesOf(e.llm_message.content);
      if (!text && images.length === 0) return;
      if (e.sender === 'acp') return note(items, e, text, ''); // about an agent program, for the user
      if (from === 'user' && e.source === 'environment') return note(items, e, tr('The agent was told'), text);
      items.push({ type: 'message', id: e.id, time: e.timestamp, from, text, images, reasoning: e.llm_message.reasoning_content ?? '' });
      verdict(items, e);
      return;
    }
    case 'ActionEvent':
      addAction(items, index, e);
      verdict(items, e);
      return;
    case 'ObservationEvent':
      if (silent(e.tool_name)) return; // shown as messages
      settle(items, index, e.action_id, null, order, e, { state: 'done', time: e.timestamp, observation: e.observation });
      return;
    case 'UserRejectObservation':
      settle(items, index, e.action_id, null, order, e, {
        state: 'rejected',
        time: e.timestamp,
        reason: e.rejection_reason,
        by: e.rejection_source ?? 'user',
      });
      return;
    case 'AgentErrorEvent':
      settle(items, index, null, e.tool_call_id, order, e, { state: 'failed', time: e.timestamp, error: e.error });
      return;
    case 'ACPToolCallEvent':
      addCall(items, index, e, order);
      return;
    case 'SecurityAnalysisEvent':
      for (const [id, risk] of Object.entries(e.risks)) {
        if (!change(items, index, index.lines.get(id), { risk })) wait(index.ofAction, id, { order, went: index.went, change: { risk }, line: '' });
      }
      return;
    case 'ConversationErrorEvent': {
      const cure = e.classification?.user_action;
      items.push({
        type: 'error',
        id: e.id,
        time: e.timestamp,
        code: e.code,
        detail: withoutFlags(e.detail),
        cure: cure === 'retry' || cure === 'settings' ? cure : 'none',
      });
      return;
    }
    case 'Condensation':
      if (e.forgotten_event_ids.length === 0) note(items, e, tr('The history was not summarised; the model sees it as before'), '');
      else note(items, e, plural(e.forgotten_event_ids.length, '1 earlier event was summarised for the model', '{n} earlier events were summarised for the model'), e.summary ?? '');
      return;
    case 'ConversationStateUpdateEvent':
      if (e.key === 'warnings' && Array.isArray(e.value) && e.value.length > 0) {
        items.push({ type: 'note', id: e.id, time: e.timestamp, text: '', detail: '', missing: e.value.map(String) });
      }
      if (e.key === 'execution_status' && e.value === 'running') index.went = e.timestamp;
      if (e.key === 'project_hooks') note(items, e, ...hooksFileText(e.value));
      return;
    case 'PauseEvent':
      note(items, e, tr('Paused'), '');
      return;
    case 'InterruptEvent':
      note(items, e, tr('Paused, and its step was stopped'), '');
      return;
    case 'HookExecutionEvent':
      note(items, e, hookText(e), [e.hook_command, e.reason, e.additional_context, e.error, e.stdout, e.stderr].filter(Boolean).join('\n'));
      return;
  }
}

// hookText says the decision of a hook, and why.
function hookText(e: HookExecution): string {
  const hook = e.tool_name ? `${e.hook_event_type} (${e.tool_name})` : e.hook_event_type;
  const [why] = (e.reason || e.error || e.stderr || '').trim().split('\n', 1);
  const told = hookResult(e, hook);
  return why && (e.blocked || !e.success) ? `${told}: ${why}` : told;
}

function hookResult(e: HookExecution, hook: string): string {
  if (!e.blocked) return tr(e.success ? 'Hook {event} succeeded' : 'Hook {event} failed', { event: hook });
  switch (e.hook_event_type) {
    case 'UserPromptSubmit':
      return tr('Hook {event} refused the message', { event: hook });
    case 'Stop':
      return tr('Hook {event} keeps the agent at work', { event: hook });
  }
  return tr('Hook {event} blocked the action', { event: hook });
}

// hooksFileText says the user's answer about the hooks of the project.
function hooksFileText(value: unknown): [text: string, detail: string] {
  const { file, problem, answer } = value as { file: string; problem?: string; answer: string };
  if (problem) return [tr('The project’s {file} is not used', { file }), problem];
  if (answer === 'allowed') return [tr('The hooks of the project are allowed'), ''];
  if (answer === 'refused') return [tr('The hooks of the project do not run, as you have answered'), ''];
  return [tr('The project has hooks, which wait for your answer'), ''];
}

function note(items: Item[], e: Event, text: string, detail: string): void {
  items.push({ type: 'note', id: e.id, time: e.timestamp, text, detail });
}

// verdict shows the verdict of a critic behind what it is about.
function verdict(items: Item[], e: Extract<Event, { kind: 'MessageEvent' | 'ActionEvent' }>): void {
  const r = e.critic_result;
  if (r) items.push({ type: 'note', id: `${e.id}:critic`, time: e.timestamp, text: verdictText(r), detail: verdictDetail(r) });
}

function addAction(items: Item[], index: Index, e: ActionEvent): void {
  const said = textOf(e.thought);
  let reasoning = e.reasoning_content ?? '';
  if (e.action?.kind === 'FinishAction') {
    const text = [said, plain(e.action.message)].filter(Boolean).join('\n\n');
    items.push({ type: 'message', id: e.id, time: e.timestamp, from: 'agent', text, images: [], reasoning });
    return;
  }
  if (said) {
    items.push({ type: 'message', id: `${e.id}:thought`, time: e.timestamp, from: 'agent', text: said, images: [], reasoning });
    reasoning = '';
  }
  if (e.action?.kind === 'ThinkAction') {
    reasoning = [reasoning, plain(e.action.thought)].filter(Boolean).join('\n\n');
    items.push({ type: 'message', id: e.id, time: e.timestamp, from: 'agent', text: '', images: [], reasoning });
    return;
  }
  index.lines.set(e.id, index.first + items.length);
  index.calls.set(e.tool_call_id, index.first + items.length);
  items.push({ type: 'action', id: e.id, time: e.timestamp, action: e, reasoning, risk: e.security_risk ?? 'UNKNOWN', outcome: null });
}

// addCall shows a call of another agent program as an action, and the news of its end as the result.
function addCall(items: Item[], index: Index, e: ACPToolCall, order: number): void {
  const outcome = outcomeOf(e);
  const at = index.calls.get(e.tool_call_id);
  const known = at === undefined ? undefined : items[at - index.first];
  if (at !== undefined && known?.type === 'action' && known.outcome === null) {
    if (outcome) change(items, index, at, { action: callOf(e), outcome });
    return;
  }
  const action = callOf(e);
  if (!outcome) return addAction(items, index, action);
  // Its beginning may come with an older window, and takes the place of this line.
  wait(index.ofCall, e.tool_call_id, { order, went: index.went, change: { outcome, action }, line: e.id });
  index.lines.set(e.id, index.first + items.length);
  items.push({ type: 'action', id: e.id, time: e.timestamp, action, reasoning: '', risk: 'UNKNOWN', outcome });
}

type Result = Extract<Event, { kind: 'ObservationEvent' | 'UserRejectObservation' | 'AgentErrorEvent' }>;

// settle gives an action its outcome, by its id or its call's id. A result whose
// action is not there has a line of its own, unless it would say nothing.
function settle(items: Item[], index: Index, action: string | null, call: string | null, order: number, e: Result, outcome: Outcome): void {
  const at = action === null ? index.calls.get(call ?? '') : index.lines.get(action);
  if (change(items, index, at, { outcome })) return;
  const shown = call !== null || !silent(e.tool_name);
  const waiting = { order, went: index.went, change: { outcome }, line: shown ? e.id : '' };
  if (action === null) wait(index.ofCall, call ?? '', waiting);
  else wait(index.ofAction, action, waiting);
  if (!shown) return;
  index.lines.set(e.id, index.first + items.length);
  items.push({ type: 'result', id: e.id, time: outcome.time, tool: e.tool_name, outcome });
}

// silent are the tools whose actions are shown as messages; their outcomes say nothing.
function silent(tool: string): boolean {
  return tool === 'finish' || tool === 'think';
}

function change(items: Item[], index: Index, line: number | undefined, by: Waiting['change']): boolean {
  if (line === undefined) return false;
  const item = items[line - index.first];
  if (item?.type !== 'action') return false;
  items[line - index.first] = changed(item, by, index.went);
  return true;
}

// changed is an action after a change. went is when the agent went on last: an action that waited for
// the user began then.
function changed(item: ActionItem, by: Waiting['change'], went: string): ActionItem {
  const next = { ...item, ...by };
  return 'outcome' in by && next.outcome && went > item.time ? { ...next, outcome: { ...next.outcome, began: went } } : next;
}

function wait(list: Map<string, Waiting[]>, key: string, waiting: Waiting): void {
  const others = list.get(key);
  if (others) others.push(waiting);
  else list.set(key, [waiting]);
}
