// Files of a conversation's workspace.
import { queryOptions, type QueryClient } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import { Failure } from './failure';
import { query } from './http';

export interface FileEntry {
  name: string;
  directory: boolean;
  size: number; // bytes
}

// list returns a directory, its directories first.
export async function list(conversation: Conversation, directory: string): Promise<FileEntry[]> {
  const found = await conversation.ask<FileEntry[]>('GET', `file/list${query({ path: directory })}`);
  return found.sort((a, b) => Number(b.directory) - Number(a.directory) || a.name.localeCompare(b.name));
}

export const directoryQuery = (conversation: Conversation, directory: string) =>
  queryOptions({ queryKey: ['files', conversation.id, directory], queryFn: () => list(conversation, directory), retry: false });

// fileQuery keeps the blob of an unchanged file, so that the page does not draw it again.
export const fileQuery = (conversation: Conversation, path: string) =>
  queryOptions({
    queryKey: ['file', conversation.id, path],
    queryFn: async ({ client, queryKey }) => {
      const now = await conversation.download(`file/download${query({ path })}`);
      const before = client.getQueryData<Blob>(queryKey);
      return before && (await same(before, now)) ? before : now;
    },
    gcTime: 0,
    retry: false,
  });

// planQuery is the plan that an agent has written in a workspace; null if there is none.
export const planQuery = (conversation: Conversation, directory: string) =>
  queryOptions({
    queryKey: ['file', conversation.id, 'plan', directory],
    queryFn: async () => {
      try {
        return await (await conversation.download(`file/download${query({ path: planPath(directory) })}`)).text();
      } catch (error) {
        if (error instanceof Failure && error.status === 404) return null;
        throw error;
      }
    },
    retry: false,
  });

// planPath is where agents that plan write their plan (docs/tools.md).
export const planPath = (directory: string): string => `${directory}/.agents_tmp/PLAN.md`;

// same reports whether two files have the same bytes.
async function same(a: Blob, b: Blob): Promise<boolean> {
  if (a.size !== b.size) return false;
  const before = new Uint8Array(await a.arrayBuffer());
  const now = new Uint8Array(await b.arrayBuffer());
  return before.every((byte, i) => byte === now[i]);
}

// readAgain has the directories and the file on the page read anew.
export async function readAgain(queries: QueryClient, conversation: Conversation): Promise<void> {
  await Promise.all(['files', 'file'].map((key) => queries.invalidateQueries({ queryKey: [key, conversation.id] })));
}

export function archived(conversation: Conversation, directory: string): Promise<Blob> {
  return conversation.download(`file/archive${query({ path: directory })}`);
}

export async function store(conversation: Conversation, path: string, file: File): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  await conversation.upload(`file/upload${query({ path })}`, form);
}
