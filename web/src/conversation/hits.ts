import { textOf, type Event } from '../events/event';
import { eventOf, type Item } from '../events/item';

// hits returns the ids of items with a text in lower case, newest first: of loaded items, and
// of older events that the server has found.
export function hits(items: Item[], gone: ReadonlySet<string>, lower: string, found: Event[]): string[] {
  const ofServer = new Set(found.map(itemOf));
  const has = new Set(items.filter((item) => textIn(item).toLowerCase().includes(lower)));
  // An action that the server has found may have the text in its thought.
  const shown = new Set([...has].map(eventOf));
  const all: string[] = [];
  const loaded = new Set<string>();
  for (const item of items.toReversed()) {
    const event = eventOf(item);
    loaded.add(event);
    if (gone.has(event)) continue;
    if (has.has(item) || (ofServer.has(item.id) && !shown.has(event))) all.push(item.id);
  }
  for (const id of ofServer) if (!loaded.has(id) && !gone.has(id)) all.push(id);
  return all;
}

// itemOf is the item that shows an event: a result is shown with its action.
function itemOf(e: Event): string {
  return e.kind === 'ObservationEvent' || e.kind === 'UserRejectObservation' ? e.action_id : e.id;
}

function textIn(item: Item): string {
  switch (item.type) {
    case 'message':
      return `${item.text}\n${item.reasoning}`;
    case 'action':
      return `${strings(item.action.action).join('\n')}\n${item.outcome?.state === 'done' ? textOf(item.outcome.observation.content) : item.outcome?.state === 'failed' ? item.outcome.error : ''}`;
    case 'result':
      return item.outcome.state === 'done' ? textOf(item.outcome.observation.content) : '';
    case 'error':
      return `${item.code} ${item.detail}`;
    case 'note':
      return `${item.text} ${item.detail}`;
  }
}

// strings are the texts of a value, but for names of kinds.
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => (name === 'kind' ? [] : strings(one)));
}
