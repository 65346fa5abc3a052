// The conversations of the user: lists of them, single ones, and changes to a whole one.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { download, query, request, upload } from './http';
import { summary, type AppConversation, type ConversationSummary } from './summary';

const base = '/api/v1/app-conversations';

// Keys for invalidation: all lists, all single conversations, one conversation.
export const listsKey = ['conversations'] as const;
export const singlesKey = ['conversation'] as const;
export const conversationKey = (id: string) => ['conversation', id] as const;

// A ListPage is a part of the list; next is null on the last one.
interface ListPage {
  items: ConversationSummary[];
  next: string | null;
}

// list returns conversations whose title has a text; an empty status stands for all.
export async function list(title: string, page: string | null, status = ''): Promise<ListPage> {
  const answer = await request<{ items: AppConversation[]; next_page_id: string | null }>(
    'GET',
    `${base}/search${query({ title__contains: title, execution_status__eq: status, page_id: page, limit: 50 })}`,
  );
  return { items: answer.items.map(summary), next: answer.next_page_id };
}

export const listQuery = (title: string, status = '') =>
  infiniteQueryOptions({
    queryKey: [...listsKey, 'list', title, status],
    queryFn: ({ pageParam }) => list(title, pageParam, status),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });

// newestQuery asks for the newest conversations, again and again.
export const newestQuery = queryOptions({ queryKey: [...listsKey, 'newest'], queryFn: () => list('', null), refetchInterval: 5000 });

// titledQuery asks for conversations by title, for the palette.
export const titledQuery = (title: string) => queryOptions({ queryKey: [...listsKey, 'titled', title], queryFn: () => list(title.trim(), null), placeholderData: keepPreviousData });

// askingQuery returns the ids of conversations that wait for the user.
export const askingQuery = (ids: string[]) =>
  queryOptions({
    queryKey: [...listsKey, 'asking', ...ids],
    queryFn: async () => (await Promise.all(ids.map(conversation))).flatMap((c) => (c?.status === 'waiting_for_confirmation' ? [c.id] : [])),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });

// partsQuery returns the parts of a conversation that still exist.
export const partsQuery = (ids: string[]) =>
  queryOptions({
    queryKey: [...listsKey, 'parts', ...ids],
    queryFn: async () => (await Promise.all(ids.map(conversation))).filter((c) => c !== null),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.some((c) => ['running', 'starting', 'waiting_for_confirmation'].includes(c.status)) ? 3000 : 30_000),
  });

// conversation returns a summary; null: there is no such conversation.
export async function conversation(id: string): Promise<ConversationSummary | null> {
  const [found] = await request<(AppConversation | null)[]>('GET', `${base}${query({ ids: id })}`);
  return found ? summary(found) : null;
}

export const conversationQuery = (id: string) => queryOptions({ queryKey: conversationKey(id), queryFn: () => conversation(id) });

// The conversation of a task at work is asked for at these intervals, in milliseconds: before
// it exists, and afterwards.
const untilThere = 500;
const again = 2000;

// taskQuery asks for a sub-agent's conversation as long as the sub-agent works: the
// conversation may not exist yet, and may wait for the user while its thread is closed.
export const taskQuery = (id: string, working: boolean) => queryOptions({ ...conversationQuery(id), refetchInterval: ({ state }) => working && (state.data ? again : untilThere) });

export async function rename(id: string, title: string): Promise<void> {
  await request('PATCH', `${base}/${id}`, { title });
}

export async function setTags(id: string, tags: Record<string, string>): Promise<void> {
  await request('PATCH', `${base}/${id}`, { tags });
}

export async function share(id: string, shared: boolean): Promise<void> {
  await request('PATCH', `${base}/${id}`, { public: shared });
}

export async function remove(id: string): Promise<void> {
  await request('DELETE', `${base}/${id}`);
}

export function exported(id: string): Promise<Blob> {
  return download(`${base}/${id}/download`);
}

// demo starts a recorded conversation, and returns its id.
export async function demo(): Promise<string> {
  const { id } = await request<{ id: string }>('POST', `${base}/demo`, {});
  return id;
}

// takeRecorded imports or replays a trajectory, or the zip file of a download. It returns the
// id of the new conversation.
export async function takeRecorded(file: File, how: 'import' | 'replay'): Promise<string> {
  const response = await upload(`${base}/${how}`, file);
  return ((await response.json()) as { id: string }).id;
}
