// Git hosts: tokens, and the repositories, branches and tasks that they give access to.
import { queryOptions } from '@tanstack/react-query';
import { query, request } from './http';
import { settings, settingsQuery } from './settings';

const base = '/api/v1/git';

export interface Repository {
  name: string; // owner/name
  branch: string; // the default one; empty: unknown
  isPublic: boolean;
}

// A SuggestedTask is an issue or pull request that waits for somebody.
export interface SuggestedTask {
  provider: string;
  type: string; // in the server's words
  repository: string;
  number: number;
  title: string;
}

// hostsQuery maps providers that have a token to the address of their host.
export const hostsQuery = queryOptions({ ...settingsQuery, select: (all) => all.provider_tokens_set });

// setGitToken keeps the tokens of the other providers: an empty token does so.
export async function setGitToken(provider: string, token: string, host: string): Promise<void> {
  const tokens: Record<string, { token: string; host: string }> = {};
  for (const [name, at] of Object.entries((await settings()).provider_tokens_set)) tokens[name] = { token: '', host: at ?? '' };
  tokens[provider] = { token, host };
  await request('POST', '/api/v1/secrets/git-providers', { provider_tokens: tokens });
}

export async function removeGitTokens(): Promise<void> {
  await request('DELETE', '/api/v1/secrets/git-providers');
}

async function suggestedTasks(): Promise<SuggestedTask[]> {
  const { items } = await request<{ items: { git_provider: string; task_type: string; repo: string; issue_number: number; title: string }[] }>('GET', `${base}/suggested-tasks/search`);
  return items.map((t) => ({ provider: t.git_provider, type: t.task_type, repository: t.repo, number: t.issue_number, title: t.title }));
}

export const suggestedTasksQuery = queryOptions({ queryKey: ['suggested-tasks'], queryFn: suggestedTasks, staleTime: 300_000, retry: false });

async function repositories(provider: string, text: string): Promise<Repository[]> {
  const { items } = await request<{ items: { full_name: string; main_branch: string | null; is_public: boolean }[] }>(
    'GET',
    `${base}/repositories/search${query({ provider, query: text, limit: 30 })}`,
  );
  return items.map((r) => ({ name: r.full_name, branch: r.main_branch ?? '', isPublic: r.is_public }));
}

// repositoriesKey is the key of all searches at a provider.
export const repositoriesKey = (provider: string) => ['git-repositories', provider] as const;

// repositoriesQuery returns some repositories that match a text.
export const repositoriesQuery = (provider: string, text: string) =>
  queryOptions({
    queryKey: [...repositoriesKey(provider), text],
    queryFn: () => repositories(provider, text),
    placeholderData: (before, found) => (found?.queryKey[1] === provider ? before : undefined),
    staleTime: 60_000,
    retry: false,
  });

async function branches(provider: string, repository: string, text: string): Promise<string[]> {
  // The text is required, even an empty one.
  const { items } = await request<{ items: { name: string }[] }>(
    'GET',
    `${base}/branches/search${query({ provider, repository, limit: 30 })}&query=${encodeURIComponent(text)}`,
  );
  return items.map((b) => b.name);
}

// branchesQuery returns some branches that match a text.
export const branchesQuery = (provider: string, repository: string, text: string) =>
  queryOptions({
    queryKey: ['git-branches', provider, repository, text],
    queryFn: () => branches(provider, repository, text),
    placeholderData: (before, found) => (found?.queryKey[1] === provider && found.queryKey[2] === repository ? before : undefined),
    staleTime: 60_000,
    retry: false,
  });
