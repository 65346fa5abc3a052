// Questions about the events of one conversation.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import { connect } from './conversation';
import type { ConversationSummary } from './summary';

// findQuery returns events that show a text, newest first.
export const findQuery = (conversation: Conversation, text: string) =>
  infiniteQueryOptions({
    queryKey: ['find', conversation.id, text],
    queryFn: ({ pageParam }) => conversation.find(text, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    enabled: text !== '',
    retry: false,
    gcTime: 0,
  });

// threadsQuery returns the parts that no task of the conversation has started: the
// conversation of a task has the id of the task's event.
export const threadsQuery = (conversation: Conversation, parts: string[]) =>
  queryOptions({
    queryKey: ['threads', conversation.id, ...parts],
    queryFn: async () => {
      const tasks = await conversation.existing(parts);
      return parts.filter((id) => !tasks.has(id));
    },
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });

// isTaskQuery tells whether a part belongs to a task of a sub-agent.
export const isTaskQuery = (whole: ConversationSummary | null | undefined, part: string) =>
  queryOptions({
    queryKey: ['is-task', whole?.id, part],
    queryFn: async () => (whole ? (await connect(whole).existing([part])).has(part) : false),
    enabled: Boolean(whole),
    staleTime: Infinity,
  });
