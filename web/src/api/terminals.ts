// Pseudo terminals of a conversation's sandbox.
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';

export interface OpenTerminal {
  id: string;
  attached: boolean; // a client is connected to it
  exit_code?: number; // it has ended
}

// terminalsQuery returns them in the order in which they were opened.
export const terminalsQuery = (conversation: Conversation) =>
  queryOptions({
    queryKey: ['terminals', conversation.id],
    queryFn: async () => (await conversation.ask<OpenTerminal[] | null>('GET', 'terminals')) ?? [],
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

export async function closeTerminal(conversation: Conversation, id: string): Promise<void> {
  await conversation.ask('DELETE', `terminals/${encodeURIComponent(id)}`);
}
