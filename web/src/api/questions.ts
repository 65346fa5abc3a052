// Questions: the server's words for the actions that wait for the user (docs/confirmation.md).
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';

export interface Question {
  action_id: string;
  tool_name: string;
  mcp_server?: string;
  title: string;
  subject?: string; // the file and the like
  text: string; // the whole effect of the action
  form: 'command' | 'diff' | 'text' | 'arguments'; // of the text
  risk: string;
  reasons: string[]; // for the risk
  summary?: string; // the model's description
}

// questionsQuery asks anew when other actions wait.
export const questionsQuery = (conversation: Conversation, actions: string[]) =>
  queryOptions({
    queryKey: ['questions', conversation.id, ...actions],
    queryFn: async () => (await conversation.ask<{ questions: Question[] }>('GET', 'questions')).questions,
    staleTime: Infinity,
    gcTime: 0,
  });
