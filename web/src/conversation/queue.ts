// Messages that wait until the agent has ended. They are the user's drafts, so this tab
// keeps them; the server gets them when they are sent.
const key = (conversation: string) => `deft.queue.${conversation}`;

export function queued(conversation: string): string[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key(conversation)) ?? '[]');
    return Array.isArray(kept) ? kept.filter((t) => typeof t === 'string') : [];
  } catch {
    return [];
  }
}

export function keepQueued(conversation: string, messages: string[]): void {
  try {
    if (messages.length) sessionStorage.setItem(key(conversation), JSON.stringify(messages));
    else sessionStorage.removeItem(key(conversation));
  } catch {
    // The browser keeps nothing; the page still has them.
  }
}
