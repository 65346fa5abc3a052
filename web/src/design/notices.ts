import { tr } from '../i18n/text';
import { visible } from './visible';

// Notices of the browser, when an agent has ended or asks. They belong to this
// browser, so the choice is kept in it.
const key = 'deft.notices';

export function notices(): boolean {
  try {
    // The permission comes from another process of the browser, so it is the last to be asked.
    return localStorage.getItem(key) === 'on' && 'Notification' in window && Notification.permission === 'granted';
  } catch {
    return false;
  }
}

// setNotices asks the browser's permission if it must. It returns the state now.
export async function setNotices(on: boolean): Promise<boolean> {
  if (on && (await Notification.requestPermission()) !== 'granted') return false;
  try {
    localStorage.setItem(key, on ? 'on' : 'off');
  } catch {
    return false;
  }
  return on;
}

const worth: Record<string, (title: string) => string> = {
  finished: (title) => tr('“{title}” has finished.', { title }),
  waiting_for_confirmation: (title) => tr('“{title}” needs your answer.', { title }),
  error: (title) => tr('“{title}” has failed.', { title }),
  stuck: (title) => tr('“{title}” is stuck.', { title }),
};

// news compares two states of the list, and returns changes that matter to the user. A new
// entry counts if it has changed since the page was opened, in milliseconds since 1970.
export function news(before: Map<string, string>, now: { id: string; title: string; status: string; updatedAt: string }[], opened: number): { id: string; text: string }[] {
  return now.flatMap(({ id, title, status, updatedAt }) => {
    const was = before.get(id);
    const text = worth[status];
    const changed = was === undefined ? Date.parse(updatedAt) > opened : was !== status;
    return text && changed ? [{ id, text: text(title) }] : [];
  });
}

export function show({ id, text }: { id: string; text: string }, open: (id: string) => void): void {
  const notice = new Notification('Deft', { body: visible(text), tag: id, icon: '/icon.svg' });
  notice.onclick = () => {
    window.focus();
    open(id);
    notice.close();
  };
}
