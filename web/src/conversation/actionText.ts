// The deed of an action, in a few words.
import { plain, type ActionEvent } from '../api/event';
import type { IconName } from '../design/Icon';
import { deedIcons, shown } from './shown';
import { tr } from '../i18n/text';

export interface ActionText {
  icon: IconName;
  verb: string;
  subject: string; // a command, path or query; shown in the code font
}

export function actionText(e: ActionEvent, directory: string): ActionText {
  const a = e.action;
  const path = (value: unknown) => relative(plain(value), directory);
  switch (a?.kind) {
    case 'TerminalAction':
      if (a.reset) return { icon: 'terminal', verb: tr('Restart the terminal'), subject: '' };
      return { icon: 'terminal', verb: a.is_input ? tr('Type') : tr('Run'), subject: oneLine(inWorkspace(plain(a.command), directory)) };
    case 'ApplyPatchAction':
      return { icon: 'pencil', verb: tr('Apply a patch'), subject: oneLine(patchedFiles(plain(a.patch)).map((name) => relative(name, directory)).join(', ')) };
    case 'ListDirectoryAction':
      return { icon: 'folder', verb: tr('List'), subject: path(a.dir_path) };
    case 'MCPToolAction':
      return { icon: 'plug', verb: words(e.tool_name), subject: oneLine(argumentWords(a.data)) };
    case 'BrowserNavigateAction':
      return { icon: 'globe', verb: tr('Open'), subject: plain(a.url) };
  }
  const own = shown(a);
  if (own) {
    const file = own.deed === 'change' || own.deed === 'read';
    return { icon: deedIcons[own.deed], verb: own.verb, subject: file ? path(own.subject) : oneLine(plain(own.subject)) };
  }
  const icon = a?.kind.startsWith('Browser') ? 'globe' : 'tool';
  return { icon, verb: words(e.tool_name), subject: oneLine(ownSummary(e)) };
}

// ownSummary returns the model's description of its call; servers fill a missing one with the
// tool's name and its arguments.
export function ownSummary(e: ActionEvent): string {
  const summary = e.summary ?? '';
  return summary.startsWith(`${e.tool_name}: {`) ? '' : summary;
}

// argumentWords are the arguments of a call as “name: value”, without the marks of JSON.
function argumentWords(data: unknown): string {
  if (typeof data !== 'object' || data === null) return plain(data);
  return Object.entries(data)
    .map(([name, value]) => `${name}: ${plain(value)}`)
    .join(', ');
}

function words(name: string): string {
  const spaced = name.replace(/[_-]+/g, ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function oneLine(command: string): string {
  return command.slice(0, 400).replace(/\s*\n\s*/g, ' ⏎ ');
}

// place is where conversations work by default. It is not the directory of one that was forked or
// that is shared.
const place = String.raw`(?:/[^\s'"]*)?/workspaces/[\w-]+/project|/workspace/project`;
const below = new RegExp(`^(?:${place})/(?=.)`);

export function relative(path: string, directory: string): string {
  return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path.replace(below, '');
}

// inWorkspace is the beginning of a command as one would type it in the directory where it runs.
function inWorkspace(command: string, directory: string): string {
  const own = directory ? `${directory.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}|` : '';
  const found = new RegExp(`(?<![\\w./-])(?:${own}${place})(?![\\w.-])`, 'g');
  return command.slice(0, 2000).replace(found, '.').replace(/^cd (["']?)\.\1 && /, '');
}

// patchedFiles are the files that a patch names.
export function patchedFiles(patch: string): string[] {
  return [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): *(.+?)\s*$/gm)].map((found) => found[1] ?? '');
}

// Edit is the change of one file by an action.
export interface Edit {
  path: string;
  before: string;
  after: string;
}

// editsOf returns the edits of an action, whole files if the observation has them.
export function editsOf(e: ActionEvent, observation: Record<string, unknown> | null): Edit[] {
  const a = e.action;
  if (!a) return [];
  const path = plain(a.path ?? a.file_path);
  const after = observation?.new_content;
  if (a.kind === 'ApplyPatchAction') return patchEdits(observation);
  if (typeof after === 'string' && observation?.is_error !== true) return [{ path, before: plain(observation?.old_content), after }];
  if (a.command === 'create' || a.kind === 'WriteFileAction') return [{ path, before: '', after: plain(a.file_text ?? a.content) }];
  if (a.command === 'str_replace') return [{ path, before: plain(a.old_str), after: plain(a.new_str) }];
  if (a.command === 'insert') return [{ path, before: '', after: plain(a.new_str) }];
  if (a.kind === 'EditAction') return [{ path, before: plain(a.old_string), after: plain(a.new_string) }];
  return [];
}

// patchEdits are the changes of a patch that the observation has with their texts.
function patchEdits(observation: Record<string, unknown> | null): Edit[] {
  const commit = (observation?.commit ?? {}) as { changes?: Record<string, Record<string, unknown>> };
  return Object.entries(commit.changes ?? {})
    .filter(([, change]) => typeof change.old_content === 'string' || typeof change.new_content === 'string')
    .map(([path, change]) => ({ path: plain(change.move_path) || path, before: plain(change.old_content), after: plain(change.new_content) }));
}

// lineCounts returns the numbers of lines that an edit adds and removes, between its equal
// start and end.
export function lineCounts({ before, after }: Edit): { added: number; removed: number } {
  const old = lines(before);
  const now = lines(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  return { added: now.length - start - end, removed: old.length - start - end };
}

function lines(s: string): string[] {
  return s === '' ? [] : s.replace(/\n$/, '').split('\n');
}

const risks: Record<string, string> = { LOW: tr('low risk'), MEDIUM: tr('medium risk'), HIGH: tr('high risk') };

// riskText names the risk of an action that is known.
export function riskText(risk: string): string {
  return risks[risk] ?? risk;
}

// argumentList are all arguments of a call that has any; texts are as they are, other values as
// JSON. Any other value has the name "".
export function argumentList(e: ActionEvent): [name: string, value: string][] {
  const all = argumentsOf(e);
  if (typeof all !== 'object' || all === null) return [['', plain(all)]];
  return Object.entries(all)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value, null, 2)]);
}

function argumentsOf(e: ActionEvent): unknown {
  if (e.action?.kind === 'MCPToolAction') return e.action.data;
  if (e.action) {
    const { kind: _, ...rest } = e.action;
    return rest;
  }
  try {
    return JSON.parse(e.tool_call?.arguments ?? '');
  } catch {
    return e.tool_call?.arguments ?? '';
  }
}
