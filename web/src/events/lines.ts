import type { Event } from '../api/event';
import { eventOf, type Item } from './item';
import type { Timeline } from './timeline';

// lineOf returns the id of the item that shows an event: its own, or its action's; where it has
// none, that of the next event, or of the one before it. Empty: the event is not there.
export function lineOf({ items, events }: Timeline, id: string): string {
  const own = items.find((item) => item.id === id) ?? items.find((item) => eventOf(item) === id);
  if (own) return own.id;
  const at = events.findIndex((e) => e.id === id);
  const event = events[at];
  if (!event) return '';
  const action = actionOf(items, event);
  if (action) return action.id;
  const lines = new Map(items.map((item) => [eventOf(item), item.id]));
  const near = [...events.slice(at), ...events.slice(0, at).reverse()].find((e) => lines.has(e.id));
  return (near && lines.get(near.id)) ?? '';
}

// actionOf returns the item of the action that an event is the result of.
export function actionOf(items: Item[], e: Event): Item | undefined {
  switch (e.kind) {
    case 'ObservationEvent':
    case 'UserRejectObservation':
      return items.find((item) => item.id === e.action_id);
    case 'AgentErrorEvent':
      return items.findLast((item) => item.type === 'action' && item.action.tool_call_id === e.tool_call_id);
    default:
      return undefined;
  }
}
