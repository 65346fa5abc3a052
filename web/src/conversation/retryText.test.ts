import { describe, expect, it } from 'vitest';
import type { Event } from '../api/event';
import { append, empty } from '../events/timeline';
import { retryText } from './retryText';

describe('retryText', () => {
  it.each([
    [{ attempt: 2, attempts: 5, detail: 'busy' }, 'The model did not answer. Attempt 3 of 5: busy'],
    [{ attempt: 1, attempts: 5, detail: 'no pictures', change: 'without images' }, 'The model refused the request (no pictures). Asking again: without images'],
    [{ model: 'a', next_model: 'b', detail: 'busy' }, 'a did not answer (busy). Asking b'],
  ])('says what the event %j says', (value, want) => {
    const { retry } = append(empty, [{ id: 'e', timestamp: '2026-11-24T12:00:00.0', source: 'environment', kind: 'ConversationStateUpdateEvent', key: 'llm_retry', value } as unknown as Event]);
    expect(retry && retryText(retry)).toBe(want);
  });
});
