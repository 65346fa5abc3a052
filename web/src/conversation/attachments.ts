// Attachments of drafts: the browser's database keeps them, for all tabs, until they are sent.
import { useCallback, useEffect, useSyncExternalStore } from 'react';

export interface Attachments {
  images: string[]; // data URLs
  files: File[];
}

type Change = (before: Attachments) => Attachments;

const none: Attachments = { images: [], files: [] };

const kept = new Map<string, Attachments>(); // by place, as far as they were read
const listeners = new Set<() => void>();
let tabs: BroadcastChannel | undefined; // hears of places that another tab has changed
let work: Promise<unknown> = Promise.resolve(); // with the database; one after the other

const attachmentsAt = (place: string): Attachments => kept.get(place) ?? none;

export function changeAttachments(place: string, change: Change): void {
  const next = change(attachmentsAt(place));
  tell(place, next);
  const empty = next.images.length + next.files.length === 0;
  work = work
    .then(() => inDatabase<unknown>('readwrite', (store) => (empty ? store.delete(place) : store.put(next, place)) as IDBRequest<unknown>))
    .then(() => tabs?.postMessage(place))
    .catch(() => {}); // The browser keeps nothing, or is full; this tab still has them.
}

// useAttachments are the attachments of a place, and how they are changed.
export function useAttachments(place: string): [attachments: Attachments, change: (by: Change) => void] {
  const attachments = useSyncExternalStore(subscribe, () => attachmentsAt(place));
  useEffect(() => {
    if (!kept.has(place)) void load(place, () => !kept.has(place));
  }, [place]);
  return [attachments, useCallback((by: Change) => changeAttachments(place, by), [place])];
}

function tell(place: string, attachments: Attachments): void {
  kept.set(place, attachments);
  for (const listener of listeners) listener();
}

async function load(place: string, wanted: () => boolean): Promise<void> {
  try {
    const found = await inDatabase<Attachments | undefined>('readonly', (store) => store.get(place) as IDBRequest<Attachments | undefined>);
    if (wanted()) tell(place, found ?? none);
  } catch {
    // The browser keeps nothing.
  }
}

function subscribe(listener: () => void): () => void {
  if (!tabs) {
    tabs = new BroadcastChannel('deft.attachments');
    tabs.onmessage = ({ data }: MessageEvent<string>) => {
      if (kept.has(data)) work = work.then(() => load(data, () => true));
    };
  }
  listeners.add(listener);
  return () => listeners.delete(listener);
}

async function inDatabase<T>(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const opening = indexedDB.open('deft.drafts', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('attachments');
  const database = await answerOf(opening);
  try {
    const transaction = database.transaction('attachments', mode);
    const answer = await answerOf(ask(transaction.objectStore('attachments')));
    await new Promise<void>((done, fail) => {
      transaction.oncomplete = () => done();
      transaction.onabort = () => fail(transaction.error ?? new Error('the browser keeps no attachments'));
    });
    return answer;
  } finally {
    database.close();
  }
}

const answerOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error ?? new Error('the browser keeps no attachments'));
  });
