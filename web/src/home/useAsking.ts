import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { askingQuery } from '../api/conversations';
import type { ConversationSummary } from '../api/summary';
import { notices } from '../design/notices';

// newest is how many parts of a conversation that is at work are looked at: as many as work
// at once, hardly ever more.
const newest = 8;

// useAsking shows conversations whose sub-agents wait for the user as ones that do. To the
// server they are at work: the agent that has given the task waits for its result.
export function useAsking(items: ConversationSummary[]): ConversationSummary[] {
  const parts = items.filter((c) => c.status === 'running').flatMap((c) => c.parts.slice(-newest));
  const { data: asking } = useQuery({
    ...askingQuery(parts),
    refetchIntervalInBackground: notices(), // else only while the page is visible
  });
  return useMemo(() => (asking?.length ? items.map((c) => (c.status === 'running' && c.parts.some((id) => asking.includes(id)) ? { ...c, status: 'waiting_for_confirmation' as const } : c)) : items), [asking, items]);
}
