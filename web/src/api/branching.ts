// Going on from an earlier event of a conversation: in a copy, or in place.
import { queryOptions } from '@tanstack/react-query';
import { query, request } from './http';

const base = '/api/v1/app-conversations';

// KeptFiles are the files that a fork or a rewind at an event can take: the event's own, or
// the nearest earlier ones. Event is null where none were kept. Without a time
// the files are as they are now.
export interface KeptFiles {
  event: string | null;
  time: string | null;
  when: 'off' | 'turn' | 'step'; // files are kept
  slow: boolean; // keeping the files of each step takes too long in this workspace
}

// Undone are the effects of a rewind on the workspace.
export interface Undone {
  written: string[];
  removed: string[];
  checkout: string; // the commit that Git checks out again; empty: the present one stays
  checkoutKept: string; // why another commit stays checked out
}

// fork copies a conversation up to an event, or all of it, and returns the copy's id.
export async function fork(id: string, event: string | null, sameFiles: boolean): Promise<string> {
  const made = await request<{ id: string }>('POST', `${base}/${id}/fork`, { event_id: event, same_files: sameFiles });
  return made.id;
}

async function keptFiles(id: string, event: string): Promise<KeptFiles> {
  type Answer = { event_id: string | null; time: string | null; checkpoints: KeptFiles['when']; slow: boolean };
  const kept = await request<Answer>('GET', `${base}/${id}/checkpoint${query({ event_id: event })}`);
  return { event: kept.event_id, time: kept.time, when: kept.checkpoints, slow: kept.slow };
}

export const keptFilesQuery = (id: string, event: string) => queryOptions({ queryKey: ['kept-files', id, event], queryFn: () => keptFiles(id, event), retry: false, gcTime: 0 });

// undo takes a conversation back to an event; with preview it only returns the effects.
export async function undo(id: string, event: string | null, keepFiles: boolean, preview: boolean): Promise<Undone> {
  type Answer = { files_written: string[]; files_removed: string[]; checkout: { ref: string; commit: string } | null; checkout_kept: string | null };
  const done = await request<Answer>('POST', `${base}/${id}/undo`, { event_id: event, keep_files: keepFiles, preview });
  const { checkout } = done;
  return {
    written: done.files_written,
    removed: done.files_removed,
    checkout: checkout ? `${checkout.ref.replace('refs/heads/', '')} (${checkout.commit.slice(0, 8)})` : '',
    checkoutKept: done.checkout_kept ?? '',
  };
}

export const undoPreviewQuery = (id: string, event: string) => queryOptions({ queryKey: ['undo', id, event], queryFn: () => undo(id, event, false, true), retry: false, gcTime: 0 });
