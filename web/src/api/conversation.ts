// One conversation, by the agent server's contract.
import type { Event } from '../events/event';
import { readFailure } from './failure';
import { agentServerClient, request, type AgentServerClient } from './http';
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

  // eventsBefore returns a window of events, newest first, and where the next
  // older one begins; null if there is none.
  async eventsBefore(pageId: string | null): Promise<{ events: Event[]; next: string | null }> {
    const { data } = await this.client.GET('/api/conversations/{conversation_id}/events/search', {
      params: { path: this.path, query: { page_id: pageId, limit: windowSize, sort_order: 'TIMESTAMP_DESC' } },
    });
    const page = data as { items: Event[]; next_page_id?: string | null };
    return { events: page.items, next: page.next_page_id ?? null };
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

  // command runs a shell command in the workspace, inside the sandbox. It fails
  // if the command does.
  async command(command: string, cwd: string): Promise<string> {
    const { data } = await this.client.POST('/api/conversations/{runtime_conversation_id}/bash/execute_bash_command', {
      params: { path: { runtime_conversation_id: this.id } },
      body: { command, cwd, timeout: 60 },
    });
    const { stdout, stderr, exit_code: code } = (data ?? {}) as { stdout?: string | null; stderr?: string | null; exit_code?: number | null };
    if (code !== 0) throw new Error((stderr || stdout || `The command ended with exit code ${code}.`).trim());
    return stdout ?? '';
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

  // files lists a directory of the workspace, directories first.
  async files(directory: string): Promise<FileEntry[]> {
    const { data } = await this.client.POST('/api/conversations/{runtime_conversation_id}/bash/execute_bash_command', {
      params: { path: { runtime_conversation_id: this.id } },
      body: {
        command: "find . -mindepth 1 -maxdepth 1 -printf '%y %s %f\\0' | head -c 900000 | base64 -w0",
        cwd: directory,
        timeout: 20,
      },
    });
    return parseListing((data as { stdout?: string | null } | undefined)?.stdout ?? '');
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
  socket(kind: 'events' | 'terminal', parameters: string): WebSocket {
    const origin = window.location.origin.replace(/^http/, 'ws');
    const socket = new WebSocket(`${origin}/sockets/${kind}/${this.id}${parameters}`);
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', session_api_key: this.sessionKey ?? '' })));
    return socket;
  }
}

// quoted makes one word of a shell command.
export function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}

// parseListing reads "type size name" entries, each ended by a zero byte.
export function parseListing(base64: string): FileEntry[] {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  return new TextDecoder()
    .decode(bytes)
    .split('\0')
    .map((entry) => /^(\S) (\d+) ([^]+)$/.exec(entry))
    .filter((m) => m !== null)
    .map(([, type, size, name]) => ({ name: name ?? '', directory: type === 'd', size: Number(size) }))
    .sort((a, b) => Number(b.directory) - Number(a.directory) || a.name.localeCompare(b.name));
}
