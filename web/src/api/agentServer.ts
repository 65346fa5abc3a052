// A single agent server, `deft agent-server`.
import { Conversation } from './conversation';
import { agentServerClient, request } from './http';
import type { components } from './generated/agent-server';
import type { ConversationSummary, ModelChoice, NewTask, Page, Profile, SecretName, Source, Started, Status } from './source';
import { tr } from '../i18n/text';

type Info = Pick<components['schemas']['ConversationInfo'], 'id' | 'title' | 'execution_status' | 'created_at' | 'updated_at' | 'stats' | 'tags' | 'parent_conversation_id' | 'sub_conversation_ids'> & {
  agent: unknown;
  workspace: unknown;
};

interface Settings {
  agent_settings: { llm: { model: string; base_url: string | null; stream?: boolean } };
  llm_api_key_is_set: boolean;
}

export class AgentServer implements Source {
  readonly kind = 'agent-server';
  readonly app = null;
  private readonly client = agentServerClient(null);

  async conversations(search: string, page: string | null, status = ''): Promise<Page<ConversationSummary>> {
    const { data } = await this.client.GET('/api/conversations/search', {
      params: { query: { page_id: page, limit: 50, sort_order: 'UPDATED_AT_DESC', ...(status ? { status: status as 'running' } : {}) } },
    });
    const wanted = search.toLowerCase();
    // Parts of another conversation are in the page of that.
    const items = (data?.items ?? []).map(summary).filter((c) => !c.parent && c.title.toLowerCase().includes(wanted));
    return { items, next: data?.next_page_id ?? null };
  }

  async conversation(id: string): Promise<ConversationSummary | null> {
    const { data } = await this.client.GET('/api/conversations', { params: { query: { ids: [id] } } });
    const found = data?.[0];
    return found ? summary(found) : null;
  }

  async start(task: NewTask): Promise<Started> {
    const { agent_settings: agent } = await request<Settings>('GET', '/api/settings', undefined, { 'X-Expose-Secrets': 'encrypted' });
    agent.llm.stream = true;
    const content: unknown[] = [{ type: 'text', text: task.text }];
    if (task.images.length) content.push({ type: 'image', image_urls: task.images });
    const { id } = await request<{ id: string }>('POST', '/api/conversations', {
      agent_settings: agent,
      secrets_encrypted: true,
      workspace: { kind: 'LocalWorkspace', working_dir: task.directory || (await this.directory()) },
      initial_message: { role: 'user', content, run: true },
      confirmation_policy: { kind: task.confirm ? 'ConfirmRisky' : 'NeverConfirm' },
      security_analyzer: task.confirm ? { kind: 'LLMSecurityAnalyzer' } : null,
    });
    return { kind: 'conversation', id };
  }

  // directory is a fresh one for a conversation that names none.
  private async directory(): Promise<string> {
    const { home } = await request<{ home: string }>('GET', '/api/file/home');
    return `${home}/deft/${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
  }

  async rename(id: string, title: string): Promise<void> {
    await request('PATCH', `/api/conversations/${id}`, { title });
  }

  async setTags(id: string, tags: Record<string, string>): Promise<void> {
    await request('PATCH', `/api/conversations/${id}`, { tags });
  }

  async remove(id: string): Promise<void> {
    await request('DELETE', `/api/conversations/${id}`);
  }

  async resume(): Promise<void> {
    // The server starts what it needs when the conversation is used.
  }

  connect({ id }: ConversationSummary): Conversation {
    return new Conversation(id, null);
  }

  async model() {
    const { agent_settings: agent, llm_api_key_is_set: keySet } = await request<Settings>('GET', '/api/settings');
    const baseURL = agent.llm.base_url ?? '';
    return { model: agent.llm.model, baseURL, keySet: keySet || baseURL !== '' };
  }

  async setModel(choice: ModelChoice): Promise<void> {
    await request('PATCH', '/api/settings', { agent_settings_diff: { llm: llm(choice) } });
  }

  async models(): Promise<string[]> {
    const { data } = await this.client.GET('/api/llm/models/verified');
    return Object.entries(data?.models ?? {}).flatMap(([provider, names]) => names.map((n) => (n.includes('/') ? n : `${provider}/${n}`)));
  }

  async profiles(): Promise<Profile[]> {
    const { data } = await this.client.GET('/api/profiles');
    return (data?.profiles ?? []).map((p) => ({
      name: p.name,
      model: p.model ?? '',
      baseURL: p.base_url ?? '',
      keySet: p.api_key_set ?? false,
      active: p.name === data?.active_profile,
    }));
  }

  async saveProfile(name: string, choice: ModelChoice): Promise<void> {
    await request('POST', `/api/profiles/${encodeURIComponent(name)}`, { llm: llm(choice), include_secrets: true });
  }

  async activateProfile(name: string): Promise<void> {
    await request('POST', `/api/profiles/${encodeURIComponent(name)}/activate`);
  }

  async deleteProfile(name: string): Promise<void> {
    await request('DELETE', `/api/profiles/${encodeURIComponent(name)}`);
  }

  async secrets(): Promise<SecretName[]> {
    const { data } = await this.client.GET('/api/settings/secrets');
    return (data?.secrets ?? []).map((s) => ({ name: s.name, description: s.description ?? '' }));
  }

  async saveSecret(name: string, value: string, description: string): Promise<void> {
    await request('PUT', '/api/settings/secrets', { name, value, description });
  }

  async deleteSecret(name: string): Promise<void> {
    await request('DELETE', `/api/settings/secrets/${encodeURIComponent(name)}`);
  }
}

function llm(choice: ModelChoice) {
  return { model: choice.model, base_url: choice.baseURL || null, ...(choice.apiKey ? { api_key: choice.apiKey } : {}) };
}

function summary(c: Info): ConversationSummary {
  const costs = Object.values(c.stats?.usage_to_metrics ?? {}).map((m) => m.accumulated_cost ?? 0);
  return {
    id: c.id,
    title: c.title ?? tr('Untitled'),
    status: (c.execution_status ?? 'idle') as Status,
    createdAt: c.created_at ?? '',
    updatedAt: c.updated_at ?? '',
    costUSD: costs.length ? costs.reduce((a, b) => a + b, 0) : null,
    model: (c.agent as { llm?: { model?: string } } | null)?.llm?.model ?? null,
    location: (c.workspace as { working_dir?: string } | null)?.working_dir ?? '',
    shared: false,
    tags: c.tags ?? {},
    sandbox: 'running',
    sessionKey: null,
    planner: false,
    parent: c.parent_conversation_id ?? null,
    parts: c.sub_conversation_ids ?? [],
  };
}
