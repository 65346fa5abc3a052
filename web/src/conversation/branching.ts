import type { MessageItem } from '../events/item';

// Branching goes on from an event: in a copy, in place, or with another message in its stead.
export interface Branching {
  from: (kind: 'fork' | 'rewind', event: string) => void;
  edit: (message: MessageItem) => void;
}
