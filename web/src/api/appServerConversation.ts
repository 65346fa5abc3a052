// Conversations of the App Server: it has their events, whether a sandbox runs or not.
import type { Event } from '../events/event';
import { Conversation, windowSize } from './conversation';
import { query, request } from './http';
import { dashed } from './ids';

interface Found {
  events: Event[]; // newest first
  next: string | null; // where the next older window begins
}

// AppServerConversation is one whose sandbox runs. Its events are read without the sandbox's key,
// so that they are asked for as soon as the page is opened (public/first.js).
export class AppServerConversation extends Conversation {
  override async eventsBefore(pageId: string | null): Promise<Found> {
    return this.search({ page_id: pageId });
  }

  override async find(text: string, pageId: string | null): Promise<Found> {
    return this.search({ text, page_id: pageId });
  }

  override async existing(ids: string[]): Promise<Set<string>> {
    const id = this.id.replaceAll('-', '');
    const found = new Set<string>();
    for (let i = 0; i < ids.length; i += windowSize) {
      const some = ids.slice(i, i + windowSize);
      const events = await request<(Event | null)[]>('GET', `/api/v1/conversation/${id}/events?${some.map((one) => `id=${dashed(one)}`).join('&')}`);
      some.forEach((one, at) => events[at] && found.add(one));
    }
    return found;
  }

  private async search(values: Record<string, string | null>): Promise<Found> {
    const id = this.id.replaceAll('-', '');
    const page = await request<{ items: Event[]; next_page_id: string | null }>(
      'GET',
      `/api/v1/conversation/${id}/events/search${query({ ...values, limit: windowSize, sort_order: 'TIMESTAMP_DESC' })}`,
    );
    return { events: page.items, next: page.next_page_id };
  }
}

// StoredConversation is one whose sandbox does not run; the App Server starts it when it
// gets a message.
export class StoredConversation extends AppServerConversation {
  constructor(id: string) {
    super(id, null);
  }

  override readonly live: boolean = false;

  override async send(text: string, images: string[]): Promise<void> {
    const content: unknown[] = [{ type: 'text', text }];
    if (images.length) content.push({ type: 'image', image_urls: images });
    await request('POST', `/api/v1/app-conversations/${this.id}/send-message`, { role: 'user', content, run: true });
  }
}
