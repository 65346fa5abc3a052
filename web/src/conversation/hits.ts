import { places } from '../design/found';
import { textOf, type Event } from '../api/event';
import { eventOf, type Item } from '../events/item';
import { actionOf } from '../events/lines';
import { append, empty } from '../events/timeline';

// hits returns the ids of items with a text in lower case, newest first: of loaded items, and
// of older events that the server has found.
export function hits(items: Item[], gone: ReadonlySet<string>, lower: string, found: Event[]): string[] {
  const loaded = new Set(items.map(eventOf));
  const { items: others } = append(empty, found.filter((e) => !loaded.has(itemOf(items, e))).toReversed());
  const ofServer = new Set(found.map((e) => itemOf(items, e)));
  return [items, others].flatMap((some) => hitsIn(some, gone, lower, ofServer));
}

function hitsIn(items: Item[], gone: ReadonlySet<string>, lower: string, ofServer: ReadonlySet<string>): string[] {
  const has = new Set(items.filter((item) => textIn(item).toLowerCase().includes(lower)));
  // An action that the server has found may have the text in its thought.
  const shown = new Set([...has].map(eventOf));
  return items
    .filter((item) => !gone.has(eventOf(item)) && (has.has(item) || (ofServer.has(item.id) && !shown.has(eventOf(item)))))
    .map(({ id }) => id)
    .reverse();
}

// itemOf is the item that shows an event: a result is shown with its action.
function itemOf(items: Item[], e: Event): string {
  return e.kind === 'ObservationEvent' || e.kind === 'UserRejectObservation' ? e.action_id : (actionOf(items, e)?.id ?? e.id);
}

// Excerpt is a text that was found, with what is around it.
export interface Excerpt {
  before: string;
  text: string;
  after: string;
}

// ahead and behind are how many characters before and after a text are shown.
const ahead = 24;
const behind = 120;

// excerpt returns a text where a hit has it; null where only the server knows.
export function excerpt(items: Item[], found: Event[], hit: string, text: string): Excerpt | null {
  const loaded = items.filter(({ id }) => id === hit);
  const { items: others } = append(empty, found.filter((e) => itemOf(items, e) === eventOf({ id: hit }) || e.id === hit).toReversed());
  for (const one of [...loaded, ...others.filter(({ id }) => id === hit)].map(textIn)) {
    const [at] = places(one, text);
    if (at === undefined) continue;
    const end = at + text.length;
    return {
      before: (at > ahead ? '… ' : '') + flat(one.slice(Math.max(0, at - ahead), at)),
      text: one.slice(at, end),
      after: flat(one.slice(end, end + behind)).trimEnd() + (one.length > end + behind ? ' …' : ''),
    };
  }
  return null;
}

const flat = (text: string): string => text.replace(/\s+/g, ' ');

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
