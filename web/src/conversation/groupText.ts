// The deeds of a group of actions, in a few words.
import { ran, type Item, type Outcome } from '../events/item';
import { plain, type ActionEvent } from '../api/event';
import { hasError, hasFailed } from './outcome';
import { shown, type Deed } from './shown';
import { plural, tr } from '../i18n/text';

export interface GroupText {
  text: string; // “Ran 5 commands, changed 2 files”
  failed: number;
  rejected: number;
  running: boolean; // an action has not ended
  time: number; // that its actions ran, in milliseconds
}

type Counted = Exclude<Deed, 'look' | 'skill' | 'model'> | 'browser' | 'tool';

// groupText reads a group. Rejected and failed actions count only as such, except commands
// that ended with a code: they ran. held: actions without an outcome wait for the user.
export function groupText(members: Item[], held = false): GroupText {
  const done = new Map<Counted, Set<string>>();
  const text: GroupText = { text: '', failed: 0, rejected: 0, running: false, time: ran(members.filter((item) => item.type === 'action')) };
  let actions = 0;
  let waiting = 0;
  for (const item of members) {
    if (item.type !== 'action' && item.type !== 'result') continue;
    actions++;
    const outcome: Outcome | null = item.outcome;
    if (!outcome) text.running = true;
    if (!outcome && held) {
      waiting++;
      continue;
    }
    if (outcome?.state === 'rejected') text.rejected++;
    if (hasFailed(outcome)) text.failed++;
    if (outcome?.state === 'rejected' || hasError(outcome)) continue;
    const [deed, what] = item.type === 'action' ? deedOf(item.action) : (['tool', ''] as const);
    const others = done.get(deed) ?? new Set();
    done.set(deed, others.add(what || item.id));
  }
  const parts = deeds.flatMap((deed) => (done.has(deed) ? [say[deed](done.get(deed)?.size ?? 0)] : []));
  if (waiting > 0) parts.push(plural(waiting, '1 action waits', '{n} actions wait'));
  const all = parts.join(', ') || plural(actions, 'asked for 1 action', 'asked for {n} actions');
  text.text = all.charAt(0).toLocaleUpperCase() + all.slice(1);
  return text;
}

const say: Record<Counted, (n: number) => string> = {
  command: (n) => plural(n, 'ran 1 command', 'ran {n} commands'),
  change: (n) => plural(n, 'changed 1 file', 'changed {n} files'),
  read: (n) => plural(n, 'read 1 file', 'read {n} files'),
  search: (n) => plural(n, 'searched once', 'searched {n} times'),
  browser: (n) => plural(n, 'took 1 step in the browser', 'took {n} steps in the browser'),
  task: (n) => plural(n, 'delegated 1 task', 'delegated {n} tasks'),
  plan: () => tr('updated the plan'),
  tool: (n) => plural(n, 'used a tool', 'used tools {n} times'),
};

const deeds = Object.keys(say) as Counted[];

// deedOf returns the deed of an action and its file; files are counted once.
function deedOf({ action: a }: ActionEvent): [Counted, string] {
  const path = plain(a?.path ?? a?.file_path);
  const deed = shown(a)?.deed;
  if (deed === 'read' || deed === 'change') return [deed, path];
  if (deed && deed !== 'look' && deed !== 'skill' && deed !== 'model') return [deed, ''];
  return [a?.kind.startsWith('Browser') ? 'browser' : 'tool', ''];
}
