// How calls of tools are shown.
import { plain } from '../api/event';
import type { IconName } from '../design/Icon';
import { shownTools } from './shownTools';

// Deed is the kind of a call; groups of actions count the deeds.
export type Deed = 'command' | 'read' | 'change' | 'search' | 'plan' | 'look' | 'task' | 'skill' | 'model';

export interface ShownDeed {
  verb: string;
  deed: Deed;
}

interface Shown extends ShownDeed {
  commands?: Record<string, ShownDeed>; // by the argument “command”
  subjects: readonly string[]; // arguments; the first one of a call is its subject
}

const tools: Record<string, Shown> = shownTools;

// shown words an action of a registered tool; null for other actions.
export function shown(a: { kind: string; [field: string]: unknown } | null | undefined): (ShownDeed & { subject: unknown }) | null {
  const own = a && tools[a.kind];
  if (!own) return null;
  const { verb, deed } = own.commands?.[plain(a.command)] ?? own;
  return { verb, deed, subject: own.subjects.map((name) => a[name]).find((value) => value !== undefined && value !== null) };
}

export const deedIcons: Record<Deed, IconName> = {
  command: 'terminal',
  read: 'file',
  change: 'pencil',
  search: 'search',
  plan: 'list',
  look: 'list',
  task: 'agent',
  skill: 'file',
  model: 'refresh',
};
