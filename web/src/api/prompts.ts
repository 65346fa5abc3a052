// Prompts of the MCP servers of a conversation's agent: a message that begins with the command of
// one brings its text along.
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';

export interface PromptOffer {
  command: string; // /SERVER:PROMPT
  server: string;
  description: string; // may be empty
  arguments: { name: string; description: string; required: boolean }[]; // as they follow the command
}

export interface Prompts {
  prompts: PromptOffer[];
  warnings: string[]; // of servers that have not answered, and prompts that are left out
}

export const promptsQuery = (conversation: Conversation) =>
  queryOptions({ queryKey: ['prompts', conversation.id], queryFn: () => conversation.ask<Prompts>('GET', 'prompts'), staleTime: 20_000, retry: false });

export type PromptsQuery = ReturnType<typeof promptsQuery>;
