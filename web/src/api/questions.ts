// Questions: the server's words for the actions that wait for the user (docs/confirmation.md).
import { queryOptions } from '@tanstack/react-query';
import type { Preset } from './confirmation';
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
  always_for?: string; // the kind of action, in the server's words; missing: it can be allowed once only
}

// An Answer decides one action. A reason is for the agent.
export interface Answer {
  choice: 'once' | 'always' | 'reject';
  reason?: string;
}

// answerQuestions answers some questions, by action. With the last answer the agent goes on.
export async function answerQuestions(conversation: Conversation, answers: Record<string, Answer>): Promise<void> {
  await conversation.ask('POST', 'answers', { answers });
}

// questionsQuery asks anew when other actions wait, and when one of them has been answered.
export const questionsQuery = (conversation: Conversation, actions: string[], answered: number) =>
  queryOptions({
    queryKey: ['questions', conversation.id, answered, ...actions],
    queryFn: async () => (await conversation.ask<{ questions: Question[] }>('GET', 'questions')).questions,
    staleTime: Infinity,
    gcTime: 0,
  });

// Confirmation says which actions of a conversation wait for the user.
interface Confirmation {
  preset: Preset | ''; // empty: another policy, of another client
  always: string[]; // the kinds of actions that wait no more, in the server's words
}

export const confirmationQuery = (conversation: Conversation) =>
  queryOptions({
    queryKey: ['confirmation', conversation.id],
    queryFn: () => conversation.ask<Confirmation>('GET', 'questions'),
    staleTime: 0,
  });
