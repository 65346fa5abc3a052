// One open conversation: its events, and the control of its agent.
import type { Event } from './event';
import { EventPages, windowSize, type Window } from './events';
import { agentServerClient, download, request, upload, type AgentServerClient } from './http';
import { dashed } from './ids';
import type { ConversationSummary } from './summary';

// Conversation reads the events from the App Server, with or without a running sandbox, and
// without the sandbox's key: public/first.js asks for them early. The rest goes to the agent
// server of the sandbox.
export class Conversation {
  readonly agentID: string; // the id in the agent server's form
  readonly client: AgentServerClient; // typed by the agent server's contract
  readonly events: EventPages;

  constructor(
    readonly id: string,
    readonly sessionKey: string | null,
  ) {
    this.agentID = dashed(id);
    this.client = agentServerClient(sessionKey);
    this.events = new EventPages(`/api/v1/conversation/${id}/events`);
  }

  // live: the sandbox runs, so that the agent can work and events can be followed.
  get live(): boolean {
    return this.sessionKey !== null;
  }

  get path() {
    return { conversation_id: this.agentID };
  }

  // ask asks a route of the conversation at the agent server.
  ask<T>(method: string, route: string, body?: unknown): Promise<T> {
    return request(method, `/api/conversations/${this.agentID}/${route}`, body, this.headers());
  }

  download(route: string): Promise<Blob> {
    return download(`/api/conversations/${this.agentID}/${route}`, this.headers());
  }

  async upload(route: string, body: BodyInit): Promise<void> {
    await upload(`/api/conversations/${this.agentID}/${route}`, body, this.headers());
  }

  private headers(): Record<string, string> {
    return this.sessionKey ? { 'X-Session-API-Key': this.sessionKey } : {};
  }

  // socket opens a WebSocket of the conversation. The key is the first frame, so that no URL
  // has it.
  socket(kind: 'events' | 'terminal' | 'output' | 'view', parameters: string): WebSocket {
    const origin = window.location.origin.replace(/^http/, 'ws');
    const socket = new WebSocket(`${origin}/sockets/${kind}/${this.agentID}${parameters}`);
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', session_api_key: this.sessionKey ?? '' })));
    return socket;
  }

  // find returns events that show a text, newest first.
  find(text: string, page: string | null): Promise<Window> {
    return this.events.window('older', page, text);
  }

  // existing returns the ids that belong to events of the conversation.
  async existing(ids: string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (let i = 0; i < ids.length; i += windowSize) {
      const some = ids.slice(i, i + windowSize);
      const events = await request<(Event | null)[]>('GET', `/api/v1/conversation/${this.id}/events?${some.map((one) => `id=${dashed(one)}`).join('&')}`);
      some.forEach((one, at) => events[at] && found.add(one));
    }
    return found;
  }

  // send gives the agent a message. Without a running sandbox the App Server starts it.
  async send(text: string, images: string[]): Promise<void> {
    const message = { role: 'user' as const, run: true };
    if (!this.live) {
      const content = [{ type: 'text', text }, ...(images.length ? [{ type: 'image', image_urls: images }] : [])];
      await request('POST', `/api/v1/app-conversations/${this.id}/send-message`, { ...message, content });
      return;
    }
    await this.client.POST('/api/conversations/{conversation_id}/events', {
      params: { path: this.path },
      body: {
        ...message,
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

  async condense(): Promise<void> {
    await this.ask('POST', 'condense');
  }

  // question has the model answer a question about the conversation; nothing is stored.
  async question(text: string): Promise<string> {
    const { response } = await this.ask<{ response: string }>('POST', 'ask_agent', { question: text });
    return response;
  }

  // pursue runs the agent until a judge says that the objective is reached.
  async pursue(objective: string): Promise<void> {
    await this.ask('POST', 'goal', { objective });
  }

  async stopGoal(): Promise<void> {
    await this.ask('POST', 'goal/stop');
  }

  async resumeGoal(): Promise<void> {
    await this.ask('POST', 'goal/resume');
  }
}

export const connect = ({ id, sessionKey }: Pick<ConversationSummary, 'id' | 'sessionKey'>): Conversation => new Conversation(id, sessionKey);
