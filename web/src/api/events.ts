// The stored events of a conversation, page by page in both directions.
import type { Event } from './event';
import { query, request } from './http';

// Branches say where an event is among all of a conversation, from 1 on, and which parts of them
// were not undone, as first and last events.
export interface Branches {
  at: number;
  active: [number, number][];
}

// A Window is a part of a conversation's events.
export interface Window {
  events: Event[]; // in the order that was asked for
  next: string | null; // page of the next window in that direction; null: there is none
}

// windowSize is the number of events in a request, the most that the server allows.
export const windowSize = 100;

// Direction is from a page on: to older events, newest first, or to newer ones, oldest first.
export type Direction = 'older' | 'newer';

const orders: Record<Direction, string> = { older: 'TIMESTAMP_DESC', newer: 'TIMESTAMP' };

// EventPages reads the events below an address, one’s own or a shared conversation’s.
export class EventPages {
  constructor(
    private readonly address: string,
    private readonly conversation?: string, // where the address does not have it
  ) {}

  // window begins with the event that page names, which is part of it; null: with the newest or
  // oldest one. An event that is not there is a Failure with the status 404.
  async window(direction: Direction, page: string | null, text?: string): Promise<Window> {
    const values = { text, page_id: page, limit: windowSize, sort_order: orders[direction], own_kinds: true, conversation_id: this.conversation };
    const found = await request<{ items: Event[]; next_page_id: string | null }>('GET', `${this.address}/search${query(values)}`);
    return { events: found.items, next: found.next_page_id };
  }

  // place tells where an event is among all, and which of them were not undone.
  place(event: string): Promise<Branches> {
    return request('GET', `${this.address}/place${query({ event_id: event, conversation_id: this.conversation })}`);
  }
}
