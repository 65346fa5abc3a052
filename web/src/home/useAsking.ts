import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSource } from '../api/context';
import type { ConversationSummary } from '../api/source';
import { notices } from '../design/notices';

// newest is how many parts of a conversation that is at work are looked at: as many as work
// at once, hardly ever more.
const newest = 8;

// useAsking shows conversations whose sub-agents wait for the user as ones that do. To the
// server they are at work: the agent that has given the task waits for its result.
export function useAsking(items: ConversationSummary[]): ConversationSummary[] {
  const source = useSource();
  const parts = items.filter((c) => c.status === 'running').flatMap((c) => c.parts.slice(-newest));
  const { data: asking } = useQuery({
    queryKey: ['conversations', 'asking', ...parts],
    queryFn: async () => (await Promise.all(parts.map((id) => source.conversation(id)))).flatMap((c) => (c?.status === 'waiting_for_confirmation' ? [c.id] : [])),
    enabled: parts.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
    refetchIntervalInBackground: notices(), // else only while the page is visible
  });
  return useMemo(() => (asking?.length ? items.map((c) => (c.status === 'running' && c.parts.some((id) => asking.includes(id)) ? { ...c, status: 'waiting_for_confirmation' as const } : c)) : items), [asking, items]);
}
