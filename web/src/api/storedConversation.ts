import type { Event } from '../events/event';
import { Conversation, windowSize } from './conversation';
import { query, request } from './http';

// StoredConversation is one whose sandbox does not run: the App Server has its events,
// and starts the sandbox when it gets a message.
export class StoredConversation extends Conversation {
  constructor(id: string) {
    super(id, null);
  }

  override readonly live: boolean = false;

  override async eventsBefore(pageId: string | null): Promise<{ events: Event[]; next: string | null }> {
    const page = await request<{ items: Event[]; next_page_id: string | null }>(
      'GET',
      `/api/v1/conversation/${this.id}/events/search${query({ page_id: pageId, limit: windowSize, sort_order: 'TIMESTAMP_DESC' })}`,
    );
    return { events: page.items, next: page.next_page_id };
  }

  override async find(text: string, pageId: string | null): Promise<{ events: Event[]; next: string | null }> {
    const page = await request<{ items: Event[]; next_page_id: string | null }>(
      'GET',
      `/api/v1/conversation/${this.id}/events/search${query({ text, page_id: pageId, limit: windowSize, sort_order: 'TIMESTAMP_DESC' })}`,
    );
    return { events: page.items, next: page.next_page_id };
  }

  override async send(text: string, images: string[]): Promise<void> {
    const content: unknown[] = [{ type: 'text', text }];
    if (images.length) content.push({ type: 'image', image_urls: images });
    await request('POST', `/api/v1/app-conversations/${this.id}/send-message`, { role: 'user', content, run: true });
  }
}
