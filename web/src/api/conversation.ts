// One conversation, by the agent server's contract.
import type { Event } from '../events/event';
import { Failure, readFailure } from './failure';
import { dashed } from './ids';
import { agentServerClient, query, request, type AgentServerClient } from './http';
import type { HookConfig } from './source';
import type { components } from './generated/agent-server';

export type ConversationInfo = components['schemas']['ConversationInfo'];
export type Change = components['schemas']['GitChange'];
export type Diff = components['schemas']['GitDiff'];

// Policy says which actions wait for the user.
export type Policy = 'NeverConfirm' | 'ConfirmRisky' | 'AlwaysConfirm';

export interface FileEntry {
  name: string;
  directory: boolean;
  size: number; // bytes
}

// GitStatus is the state of a repository; its files are those that are not committed.
export interface GitStatus {
  branch: string | null;
  head: string | null;
  unpushed: number | null; // commits that no remote has; null: there is no remote
  files: { path: string; staged: boolean; unstaged: boolean; conflicted: boolean }[];
}

// OpenTerminal is a pseudo terminal of the sandbox.
export interface OpenTerminal {
  id: string;
  attached: boolean; // a client is connected to it
  exit_code?: number; // it has ended
}

// Equipment is what the agent can use.
export interface Equipment {
  tools: { name: string; description: string; parameters: unknown }[];
  skills: { name: string; type: string; description: string | null; content: string; triggers: string[]; source: string | null }[];
  warnings: string[];
}

// SystemPrompt is what the model is told first.
export interface SystemPrompt {
  fixed: string;
  dynamic: string; // what differs between conversations; empty: nothing
}

// windowSize is how many events a request loads, the most that servers allow.
export const windowSize = 100;

export class Conversation {
  // live: its sandbox can work, and its events can be followed.
  readonly live: boolean = true;
  private readonly client: AgentServerClient;

  constructor(
    readonly id: string,
    readonly sessionKey: string | null,
  ) {
    this.client = agentServerClient(sessionKey);
  }

  private get path() {
    return { conversation_id: this.id };
  }

  async info(): Promise<ConversationInfo> {
    const { data } = await this.client.GET('/api/conversations/{conversation_id}', { params: { path: this.path } });
    return data as ConversationInfo;
  }

  // hooks are those that the project's file configures.
  async hooks(): Promise<HookConfig | null> {
    const { workspace } = (await this.info()) as { workspace?: { working_dir?: string } };
    const { data } = await this.client.POST('/api/hooks', { body: { project_dir: workspace?.working_dir ?? '' } });
    return (data?.hook_config ?? null) as HookConfig | null;
  }

  // eventsBefore returns a window of events, newest first, and where the next
  // older one begins; null if there is none.
  async eventsBefore(pageId: string | null): Promise<{ events: Event[]; next: string | null }> {
    const { data } = await this.client.GET('/api/conversations/{conversation_id}/events/search', {
      params: { path: this.path, query: { page_id: pageId, limit: windowSize, sort_order: 'TIMESTAMP_DESC' } },
    });
    const page = data as { items: Event[]; next_page_id?: string | null };
    return { events: page.items, next: page.next_page_id ?? null };
  }

  // find returns events that show a text, newest first, and where the next page begins.
  async find(text: string, pageId: string | null): Promise<{ events: Event[]; next: string | null }> {
    const path = `/api/conversations/${this.id}/events/search${query({ text, page_id: pageId, limit: windowSize, sort_order: 'TIMESTAMP_DESC' })}`;
    const page = await request<{ items: Event[]; next_page_id?: string | null }>('GET', path, undefined, this.headers());
    return { events: page.items, next: page.next_page_id ?? null };
  }

  // existing are those of the ids that are events of the conversation.
  async existing(ids: string[]): Promise<Set<string>> {
    const found = new Set<string>();
    const one = async (id: string) => {
      try {
        await request('GET', `/api/conversations/${this.id}/events/${dashed(id)}`, undefined, this.headers());
        found.add(id);
      } catch (error) {
        if (!(error instanceof Failure && error.status === 404)) throw error;
      }
    };
    await Promise.all(ids.map(one));
    return found;
  }

  // systemPrompt is null before the first message.
  async systemPrompt(): Promise<SystemPrompt | null> {
    const { data } = await this.client.GET('/api/conversations/{conversation_id}/events/search', {
      params: { path: this.path, query: { kind: 'SystemPromptEvent', limit: 1, sort_order: 'TIMESTAMP_DESC' } },
    });
    type Found = { system_prompt?: { text?: string }; dynamic_context?: { text?: string } | null };
    const [found] = (data as { items: Found[] }).items;
    return found ? { fixed: found.system_prompt?.text ?? '', dynamic: found.dynamic_context?.text ?? '' } : null;
  }

  async equipment(): Promise<Equipment> {
    return request('GET', `/api/conversations/${this.id}/equipment`, undefined, this.headers());
  }

  async send(text: string, images: string[]): Promise<void> {
    await this.client.POST('/api/conversations/{conversation_id}/events', {
      params: { path: this.path },
      body: {
        role: 'user',
        run: true,
        content: [
          { type: 'text', text, cache_prompt: false },
          ...(images.length ? [{ type: 'image' as const, image_urls: images, cache_prompt: false }] : []),
        ],
      },
    });
  }

  async run(): Promise<void> {
    await this.client.POST('/api/conversations/{conversation_id}/run', { params: { path: this.path } });
  }

  async pause(): Promise<void> {
    await this.client.POST('/api/conversations/{conversation_id}/pause', { params: { path: this.path } });
  }

  async interrupt(): Promise<void> {
    await this.client.POST('/api/conversations/{conversation_id}/interrupt', { params: { path: this.path } });
  }

  async answer(accept: boolean, reason: string): Promise<void> {
    await this.client.POST('/api/conversations/{conversation_id}/events/respond_to_confirmation', {
      params: { path: this.path },
      body: { accept, ...(reason ? { reason } : {}) },
    });
  }

  async setPolicy(kind: Policy): Promise<void> {
    const path = `/api/conversations/${this.id}`;
    // Risks are judged by the model; without an analyzer none is known.
    if (kind !== 'NeverConfirm') await request('POST', `${path}/security_analyzer`, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } }, this.headers());
    await request('POST', `${path}/confirmation_policy`, { policy: { kind } }, this.headers());
  }

  async switchProfile(name: string): Promise<void> {
    await request('POST', `/api/conversations/${this.id}/switch_profile`, { profile_name: name }, this.headers());
  }

  async stopGoal(): Promise<void> {
    await request('POST', `/api/conversations/${this.id}/goal/stop`, undefined, this.headers());
  }

  async resumeGoal(): Promise<void> {
    await request('POST', `/api/conversations/${this.id}/goal/resume`, undefined, this.headers());
  }

  async condense(): Promise<void> {
    await request('POST', `/api/conversations/${this.id}/condense`, undefined, this.headers());
  }

  // ask has the model answer a question about the conversation; nothing is stored.
  async ask(question: string): Promise<string> {
    const { response } = await request<{ response: string }>('POST', `/api/conversations/${this.id}/ask_agent`, { question }, this.headers());
    return response;
  }

  // pursue runs the agent until a judge says that the objective is reached.
  async pursue(objective: string): Promise<void> {
    await request('POST', `/api/conversations/${this.id}/goal`, { objective }, this.headers());
  }

  async archive(directory: string): Promise<Blob> {
    return this.blob(`/api/conversations/${this.id}/file/archive?path=${encodeURIComponent(directory)}`);
  }

  async changes(directory: string): Promise<Change[]> {
    const { data } = await this.client.GET('/api/conversations/{runtime_conversation_id}/git/changes', {
      params: { path: { runtime_conversation_id: this.id }, query: { path: directory } },
    });
    return data ?? [];
  }

  async diff(path: string): Promise<Diff> {
    const { data } = await this.client.GET('/api/conversations/{runtime_conversation_id}/git/diff', {
      params: { path: { runtime_conversation_id: this.id }, query: { path } },
    });
    return data as Diff;
  }

  // gitStatus is null where there is no repository.
  async gitStatus(directory: string): Promise<GitStatus | null> {
    return request('GET', this.git('status', directory), undefined, this.headers());
  }

  async changeFiles(how: 'stage' | 'unstage' | 'discard', directory: string, files: string[]): Promise<void> {
    await request('POST', this.git(how, directory), { files }, this.headers());
  }

  async commit(directory: string, message: string, all: boolean): Promise<void> {
    await request('POST', this.git('commit', directory), { message, all }, this.headers());
  }

  // patch is what differs from a commit; null: from what the remote has.
  async patch(directory: string, base: string | null): Promise<Blob> {
    const values = { format: 'git-delta', use_default_excludes: false, path: directory, base_ref: base };
    return this.blob(`/api/conversations/${this.id}/file/archive${query(values)}`);
  }

  private git(name: string, directory: string): string {
    return `/api/conversations/${this.id}/git/${name}?path=${encodeURIComponent(directory)}`;
  }

  // terminals are in the order in which they were opened.
  async terminals(): Promise<OpenTerminal[]> {
    return (await request<OpenTerminal[] | null>('GET', `/api/conversations/${this.id}/terminals`, undefined, this.headers())) ?? [];
  }

  async closeTerminal(id: string): Promise<void> {
    await request('DELETE', `/api/conversations/${this.id}/terminals/${encodeURIComponent(id)}`, undefined, this.headers());
  }

  // files lists a directory of the workspace, directories first.
  async files(directory: string): Promise<FileEntry[]> {
    const found = await request<FileEntry[]>('GET', `/api/conversations/${this.id}/file/list${query({ path: directory })}`, undefined, this.headers());
    return found.sort((a, b) => Number(b.directory) - Number(a.directory) || a.name.localeCompare(b.name));
  }

  async file(path: string): Promise<Blob> {
    return this.blob(this.downloadPath(path));
  }

  private async blob(path: string): Promise<Blob> {
    const response = await fetch(path, { headers: this.headers() });
    if (!response.ok) throw await readFailure(response);
    return response.blob();
  }

  async upload(path: string, file: File): Promise<void> {
    const form = new FormData();
    form.append('file', file);
    const response = await fetch(`/api/conversations/${this.id}/file/upload?path=${encodeURIComponent(path)}`, {
      method: 'POST',
      headers: this.headers(),
      body: form,
    });
    if (!response.ok) throw await readFailure(response);
  }

  private downloadPath(path: string): string {
    return `/api/conversations/${this.id}/file/download?path=${encodeURIComponent(path)}`;
  }

  private headers(): Record<string, string> {
    return this.sessionKey ? { 'X-Session-API-Key': this.sessionKey } : {};
  }

  // socket opens a WebSocket of the conversation and sends the key as its first
  // frame, so that no key is in a URL.
  socket(kind: 'events' | 'terminal' | 'output', parameters: string): WebSocket {
    const origin = window.location.origin.replace(/^http/, 'ws');
    const socket = new WebSocket(`${origin}/sockets/${kind}/${this.id}${parameters}`);
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', session_api_key: this.sessionKey ?? '' })));
    return socket;
  }
}
