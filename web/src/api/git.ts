// The repository in a conversation's workspace: changes and commits.
import { keepPreviousData, queryOptions, type QueryClient } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import type { components } from './generated/agent-server';
import { query } from './http';

// Change is a changed file and the extent of its change.
export interface Change {
  status: 'ADDED' | 'DELETED' | 'UPDATED' | 'MOVED';
  path: string;
  from?: string; // the path before a rename
  added: number | null; // lines; null: not counted
  deleted: number | null;
  binary: boolean;
  mode_before?: string; // Git's modes, if they differ
  mode_after?: string;
}
export type Diff = components['schemas']['GitDiff'];

// GitStatus is the state of a repository; its files are the uncommitted ones.
export interface GitStatus {
  branch: string | null;
  head: string | null;
  unpushed: number | null; // commits that no remote has; null: there is no remote
  files: { path: string; staged: boolean; unstaged: boolean; conflicted: boolean; repository: boolean }[];
}

// The queries have the number of the agent's step in their keys: each action may change files.

export const changesQuery = (conversation: Conversation, directory: string, step: number) =>
  queryOptions({
    queryKey: ['changes', conversation.id, directory, step],
    queryFn: () => conversation.ask<Change[]>('GET', `git/compare${query({ path: directory })}`),
    enabled: directory !== '',
    placeholderData: keepPreviousData,
  });

// statusQuery returns null where there is no repository.
export const statusQuery = (conversation: Conversation, directory: string, step: number) =>
  queryOptions({
    queryKey: ['git-status', conversation.id, directory, step],
    queryFn: () => conversation.ask<GitStatus | null>('GET', `git/status${query({ path: directory })}`),
    enabled: directory !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });

async function diffOf(conversation: Conversation, path: string): Promise<Diff> {
  const { data } = await conversation.client.GET('/api/conversations/{runtime_conversation_id}/git/diff', {
    params: { path: { runtime_conversation_id: conversation.agentID }, query: { path } },
  });
  return data as Diff;
}

export const diffQuery = (conversation: Conversation, path: string, step: number) =>
  queryOptions({
    queryKey: ['diff', conversation.id, path, step],
    queryFn: () => diffOf(conversation, path),
    placeholderData: keepPreviousData,
  });

// movedDiffQuery compares a file with its text under the path before a rename.
export const movedDiffQuery = (conversation: Conversation, from: string, path: string, step: number) =>
  queryOptions({
    queryKey: ['diff', conversation.id, path, step, from],
    queryFn: async (): Promise<Diff> => {
      const [before, after] = await Promise.all([diffOf(conversation, from), diffOf(conversation, path)]);
      return { original: before.original, modified: after.modified };
    },
    placeholderData: keepPreviousData,
  });

// lookAgain has the changes on the page read anew.
export async function lookAgain(queries: QueryClient, conversation: Conversation): Promise<void> {
  await Promise.all(['changes', 'git-status', 'diff'].map((key) => queries.invalidateQueries({ queryKey: [key, conversation.id] })));
}

export async function changeFiles(conversation: Conversation, how: 'stage' | 'unstage' | 'discard', directory: string, files: string[]): Promise<void> {
  await conversation.ask('POST', `git/${how}${query({ path: directory })}`, { files });
}

export async function commit(conversation: Conversation, directory: string, message: string, all: boolean): Promise<void> {
  await conversation.ask('POST', `git/commit${query({ path: directory })}`, { message, all });
}

// patch has the differences from a commit; null: from the remote's branch.
export function patch(conversation: Conversation, directory: string, base: string | null): Promise<Blob> {
  return conversation.download(`file/archive${query({ format: 'git-delta', use_default_excludes: false, path: directory, base_ref: base })}`);
}
