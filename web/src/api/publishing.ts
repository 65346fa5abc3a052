// Pushing to the repository of a conversation, and pull requests there.
import { queryOptions } from '@tanstack/react-query';
import { tr } from '../i18n/text';
import { Failure } from './failure';
import { query, request } from './http';
import type { Titled } from './summary';

const base = '/api/v1/app-conversations';

// Origin is the repository that a conversation was started with.
export interface Origin {
  repository: string; // owner/name, or its address; empty: none
  branch: string; // empty: the default one
  title: string; // of the conversation
  pullRequests: { number: number; url: string }[]; // of this work; no url: unknown
}

export interface PullRequest {
  number: number;
  url: string;
  warning: string;
}

export interface PullRequestDraft {
  source: string;
  target: string;
  title: string;
  description: string;
  draft: boolean;
}

async function origin(id: string): Promise<Origin> {
  type Found = Titled & { selected_repository: string | null; selected_branch: string | null; pr_number: number[] | null; pr_url?: Record<string, string> };
  const [found] = await request<(Found | null)[]>('GET', `${base}${query({ ids: id })}`);
  if (!found) throw new Failure(404, tr('There is no such conversation.'));
  return {
    repository: found.selected_repository ?? '',
    branch: found.selected_branch ?? '',
    title: found.title ?? found.provisional_title ?? '',
    pullRequests: (found.pr_number ?? []).map((number) => ({ number, url: found.pr_url?.[number] ?? '' })),
  };
}

export const originQuery = (id: string) => queryOptions({ queryKey: ['origin', id], queryFn: () => origin(id), retry: false });

export async function push(id: string, branch: string): Promise<void> {
  await request('POST', `${base}/${id}/git/push`, { branch });
}

export async function openPullRequest(id: string, p: PullRequestDraft): Promise<PullRequest> {
  const made = await request<{ number: number; url: string; warning: string | null }>('POST', `${base}/${id}/git/pull-request`, {
    source_branch: p.source,
    target_branch: p.target || null,
    title: p.title,
    description: p.description,
    draft: p.draft,
  });
  return { number: made.number, url: made.url, warning: made.warning ?? '' };
}
