// The hooks of a conversation, and the question whether the project’s may run
// (docs/hooks.md).
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';

interface Definition {
  type: string;
  command?: string;
  prompt?: string | null;
  system_prompt?: string | null;
  tools?: string[];
  timeout: number; // seconds
  async: boolean;
}

// HookConfig has hooks by the moment at which they run.
type HookConfig = Record<string, { matcher: string; hooks: Definition[] }[]>;

// Asked is a part of the project that runs programs once the user has allowed its content.
export interface Asked {
  file: string;
  sha256: string; // of the content
  answer: 'allowed' | 'refused' | ''; // of the user, about this content
  unsandboxed?: boolean; // there is no sandbox
}

// Hooks are the ones in force, the file of the project, and its plugins and agents that have hooks or MCP servers.
export interface Hooks {
  hook_config: HookConfig | null;
  project: Asked & {
    hook_config: HookConfig | null; // null: the file has none, or cannot be used
    problem?: string; // why not
  };
  parts: (Asked & { runs: string[] })[];
}

// A Hook in words.
export interface Hook {
  event: string;
  tools: string; // empty for all
  kind: string; // command, prompt or agent
  text: string; // all that it does
  seconds: number;
  async: boolean;
}

// listed are the hooks of a configuration, one by one, with everything they do.
export function listed(config: HookConfig | null): Hook[] {
  return Object.entries(config ?? {}).flatMap(([event, matchers]) =>
    matchers.flatMap((m) =>
      m.hooks.map((h) => ({
        event: event.replace(/(^|_)([a-z])/g, (_, _start, letter: string) => letter.toUpperCase()),
        tools: m.matcher === '*' ? '' : m.matcher,
        kind: h.type,
        text: h.type === 'command' ? (h.command ?? '') : h.type === 'prompt' ? (h.prompt ?? '') : [h.system_prompt ?? '', h.tools?.length ? `(${h.tools.join(', ')})` : ''].filter(Boolean).join(' '),
        seconds: h.timeout,
        async: h.async,
      })),
    ),
  );
}

// hooksQuery asks anew when the file or an answer has changed.
export const hooksQuery = (conversation: Conversation, change = '') =>
  queryOptions({ queryKey: ['hooks', conversation.id, change], queryFn: () => conversation.ask<Hooks>('GET', 'hooks'), staleTime: 0, retry: false });

// answerHooks says whether the programs of a part of the project with this content may run.
export async function answerHooks(conversation: Conversation, { file, sha256 }: Asked, allow: boolean): Promise<void> {
  await conversation.ask('POST', 'hooks', { file, sha256, allow });
}
