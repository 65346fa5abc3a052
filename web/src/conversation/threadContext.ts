import { createContext, type ReactNode } from 'react';
import type { Conversation } from '../api/conversation';
import type { Outputs } from '../events/output';
import type { Readable } from '../events/store';

export interface ThreadProps {
  store: Readable;
  conversation: Conversation | null; // null: it can only be read
  outputs: Outputs | null;
  onOlder: () => void; // loads an older window
  resumes: boolean; // it is paused, and its task waits for it
  address: string; // path of its own page
  label: string;
}

// ThreadContext draws the conversation of a sub-agent inside another one: threads consist of
// rows, and rows of tasks contain threads.
export const ThreadContext = createContext<(props: ThreadProps) => ReactNode>(() => null);
