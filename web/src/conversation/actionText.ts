// The deed of an action, in a few words.
import { plain, type ActionEvent } from '../events/event';
import type { IconName } from '../design/Icon';
import { deedIcons, shown } from './shown';
import { visible } from '../design/visible';
import { tr } from '../i18n/text';

export interface ActionText {
  icon: IconName;
  verb: string;
  subject: string; // a command, path or query; shown in the code font
}

const text = (value: unknown): string => visible(plain(value));

export function actionText(e: ActionEvent, directory: string): ActionText {
  const a = e.action;
  const path = (value: unknown) => relative(text(value), directory);
  switch (a?.kind) {
    case 'TerminalAction':
      if (a.reset) return { icon: 'terminal', verb: tr('Restart the terminal'), subject: '' };
      return { icon: 'terminal', verb: a.is_input ? tr('Type') : tr('Run'), subject: oneLine(text(a.command)) };
    case 'EditAction':
      return { icon: 'pencil', verb: tr('Edit'), subject: path(a.file_path) };
    case 'WriteFileAction':
      return { icon: 'pencil', verb: tr('Write'), subject: path(a.file_path) };
    case 'ReadFileAction':
      return { icon: 'file', verb: tr('Read'), subject: path(a.file_path) };
    case 'ApplyPatchAction':
      return { icon: 'pencil', verb: tr('Apply a patch'), subject: '' };
    case 'ListDirectoryAction':
      return { icon: 'folder', verb: tr('List'), subject: path(a.dir_path) };
    case 'MCPToolAction':
      return { icon: 'plug', verb: e.tool_name, subject: oneLine(text(a.data)) };
    case 'BrowserNavigateAction':
      return { icon: 'globe', verb: tr('Open'), subject: text(a.url) };
  }
  const own = shown(a);
  if (own) {
    const file = own.deed === 'change' || own.deed === 'read';
    return { icon: deedIcons[own.deed], verb: own.verb, subject: file ? path(own.subject) : oneLine(text(own.subject)) };
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

function words(name: string): string {
  const spaced = name.replace(/[_-]+/g, ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function oneLine(command: string): string {
  return command.slice(0, 400).replace(/\s*\n\s*/g, ' ⏎ ');
}

export function relative(path: string, directory: string): string {
  return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

// Edit is the change of one file by an action.
export interface Edit {
  path: string;
  before: string;
  after: string;
}

// editOf returns the edit of an action, whole files if the observation has them.
export function editOf(e: ActionEvent, observation: Record<string, unknown> | null): Edit | null {
  const a = e.action;
  if (!a) return null;
  const path = plain(a.path ?? a.file_path);
  const after = observation?.new_content;
  if (typeof after === 'string' && observation?.is_error !== true) return { path, before: plain(observation?.old_content), after };
  if (a.command === 'create' || a.kind === 'WriteFileAction') return { path, before: '', after: plain(a.file_text ?? a.content) };
  if (a.command === 'str_replace') return { path, before: plain(a.old_str), after: plain(a.new_str) };
  if (a.command === 'insert') return { path, before: '', after: plain(a.new_str) };
  if (a.kind === 'EditAction') return { path, before: plain(a.old_string), after: plain(a.new_string) };
  return null;
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

// argumentsText are all arguments of a call, as they are.
export const argumentsText = (e: ActionEvent): string => visible(JSON.stringify(argumentsOf(e), null, 2));

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
