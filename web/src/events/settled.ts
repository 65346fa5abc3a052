import type { Event } from '../api/event';

// settledAt returns the last event that belongs to one: where that is an action, the
// results of all actions of the same answer. A conversation can go on from there.
export function settledAt(events: Event[], id: string): string {
  const at = events.findIndex((e) => e.id === id);
  const first = events[at];
  if (first?.kind !== 'ActionEvent') return id;
  const open = new Set<string>();
  let from = at;
  while (events[from - 1]?.kind === 'ActionEvent') from--;
  let next = from;
  for (let e = events[next]; e?.kind === 'ActionEvent'; e = events[++next]) open.add(e.tool_call_id);
  const calls = new Map(events.slice(from, next).flatMap((e) => (e.kind === 'ActionEvent' ? [[e.id, e.tool_call_id] as const] : [])));
  let last = id;
  for (const e of events.slice(next)) {
    const call = e.kind === 'AgentErrorEvent' ? e.tool_call_id : e.kind === 'ObservationEvent' || e.kind === 'UserRejectObservation' ? calls.get(e.action_id) : undefined;
    if (call === undefined || !open.delete(call)) continue;
    last = e.id;
    if (open.size === 0) break;
  }
  return last;
}
