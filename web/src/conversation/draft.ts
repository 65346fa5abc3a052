// Drafts: texts of boxes that were not sent. The browser keeps them for all of its tabs.
import { useCallback, useSyncExternalStore } from 'react';
import { changeAttachments } from './attachments';

// newTask is the place of the draft of a new task; a conversation's place is its id.
export const newTask = 'new';

const keyOf = (place: string) => `deft.draft.${place}`;

const drafts = new Map<string, string>(); // by key, as far as they were used; also what the browser does not keep
const listeners = new Set<() => void>();

// draftAt returns the draft of a place; empty: there is none.
export function draftAt(place: string): string {
  const key = keyOf(place);
  let text = drafts.get(key);
  if (text === undefined) drafts.set(key, (text = read(key)));
  return text;
}

export function setDraft(place: string, text: string): void {
  const key = keyOf(place);
  drafts.set(key, text);
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
  } catch {
    // The browser keeps nothing, or is full; this tab still has the draft.
  }
  for (const listener of listeners) listener();
}

// addToDraft puts a text behind the draft, for the user to go on with.
export function addToDraft(place: string, text: string): void {
  const before = draftAt(place).trim();
  setDraft(place, before ? `${before}\n\n${text}` : text);
}

// forgetDraft is for a conversation that was deleted.
export function forgetDraft(place: string): void {
  setDraft(place, '');
  changeAttachments(place, () => ({ images: [], files: [] }));
}

// useDraft is the draft of a place, and how it is changed.
export function useDraft(place: string): [text: string, write: (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => draftAt(place));
  return [text, useCallback((next: string) => setDraft(place, next), [place])];
}

function read(key: string): string {
  try {
    return localStorage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('storage', onStorage);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.removeEventListener('storage', onStorage);
    drafts.clear(); // other tabs may change them while nobody looks
  };
}

// onStorage takes over what another tab has written or sent.
function onStorage({ key, newValue }: StorageEvent): void {
  if (key !== null && !drafts.has(key)) return;
  if (key === null) drafts.clear();
  else drafts.set(key, newValue ?? '');
  for (const listener of listeners) listener();
}
