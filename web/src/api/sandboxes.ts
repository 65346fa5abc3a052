// Sandboxes: the ones in use, pausing and archiving, and their isolation.
import { queryOptions } from '@tanstack/react-query';
import { tr } from '../i18n/text';
import { listsKey } from './conversations';
import { Failure } from './failure';
import { query, request } from './http';
import { titleOf, type Titled } from './summary';

const base = '/api/v1';

// A UsedSandbox has conversations.
export interface UsedSandbox {
  id: string;
  titles: string[];
}

// Isolation is in force around commands. Without a report, detail says why it is unknown.
export interface Isolation {
  report: {
    level: string;
    features: string[];
    missing?: { feature: string; reason: string }[];
    bounds?: { resource: string; value: string }[];
  } | null;
  detail: string;
}

// usedSandboxes returns the sandboxes of the newest conversations.
async function usedSandboxes(): Promise<UsedSandbox[]> {
  type Found = Titled & { sandbox_id: string; sandbox_status: string };
  const { items } = await request<{ items: Found[] }>('GET', `${base}/app-conversations/search${query({ limit: 50 })}`);
  const all = new Map<string, UsedSandbox>();
  for (const c of items.filter((c) => c.sandbox_status === 'RUNNING' || c.sandbox_status === 'PAUSED')) {
    const known = all.get(c.sandbox_id) ?? { id: c.sandbox_id, titles: [] };
    all.set(c.sandbox_id, { ...known, titles: [...known.titles, titleOf(c)] });
  }
  return [...all.values()];
}

// usedSandboxesQuery asks again and again: titles and ends of sandboxes come while the page is open.
export const usedSandboxesQuery = queryOptions({ queryKey: [...listsKey, 'sandboxes'], queryFn: usedSandboxes, refetchInterval: 5000 });

async function sandboxOf(conversation: string): Promise<string> {
  const [found] = await request<({ sandbox_id: string } | null)[]>('GET', `${base}/app-conversations${query({ ids: conversation })}`);
  if (!found) throw new Failure(404, tr('There is no such conversation.'));
  return `${base}/sandboxes/${encodeURIComponent(found.sandbox_id)}`;
}

export async function pauseSandbox(conversation: string): Promise<void> {
  await request('POST', `${await sandboxOf(conversation)}/pause`);
}

// resumeSandbox starts the sandbox of a conversation, and makes a deleted one anew.
export async function resumeSandbox(conversation: string): Promise<void> {
  await request('POST', `${base}/app-conversations/${conversation}/resume`);
}

// archive deletes the sandbox of a conversation.
export async function archive(conversation: string): Promise<void> {
  await request('DELETE', await sandboxOf(conversation));
}

// sandboxSpecQuery returns the sandbox of new conversations: a class or an image.
export const sandboxSpecQuery = queryOptions({
  queryKey: ['sandbox-spec'],
  queryFn: async () => (await request<{ items: { id: string }[] }>('GET', `${base}/sandbox-specs/search`)).items[0]?.id ?? '',
});

async function isolation(method: 'GET' | 'POST', path: string): Promise<Isolation> {
  const { report, detail } = await request<{ report: Isolation['report']; detail: string | null }>(method, base + path);
  return { report, detail: detail ?? '' };
}

export const isolationQuery = (conversation: string) =>
  queryOptions({ queryKey: ['isolation', conversation], queryFn: () => isolation('GET', `/app-conversations/${conversation}/isolation`), staleTime: 0, retry: false });

// isolationTrialQuery starts a sandbox to find out the isolation of new conversations.
export const isolationTrialQuery = queryOptions({ queryKey: ['isolation'], queryFn: () => isolation('POST', '/sandbox-specs/try'), retry: false, staleTime: Infinity });
