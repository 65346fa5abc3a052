// The App Server, `deft serve`.
import { AppServerConversation, StoredConversation } from './appServerConversation';
import type { Conversation } from './conversation';
import { Failure } from './failure';
import { Routes } from './appRoutes';
import { query, request } from './http';
import { dashed } from './ids';
import { start } from './startTask';
import type { ConversationSummary, ModelChoice, NewTask, Page, Profile, Sandbox, SecretName, Source, Started, Status } from './source';
import { tr } from '../i18n/text';

// The fields that the page reads of the App Server's answers.
interface AppConversation {
  id: string;
  title: string | null;
  selected_repository: string | null;
  selected_branch: string | null;
  llm_model: string | null;
  metrics: { accumulated_cost: number } | null;
  created_at: string;
  updated_at: string;
  sandbox_id: string;
  sandbox_status: 'STARTING' | 'RUNNING' | 'PAUSED' | 'ERROR' | 'MISSING';
  execution_status: Status | null;
  session_api_key: string | null;
  public: boolean;
  agent_type: string;
  parent_conversation_id: string | null;
  sub_conversation_ids: string[];
  tags: Record<string, string>;
}

interface Settings {
  agent_settings: { llm?: { model?: string; base_url?: string | null } };
  llm_api_key_set: boolean;
  default_llm_model: string | null; // of the server, for users who have chosen none
}

const base = '/api/v1';

export class AppServer implements Source {
  readonly kind = 'app-server';
  readonly app = new Routes();

  async conversations(search: string, page: string | null, status = ''): Promise<Page<ConversationSummary>> {
    const answer = await request<{ items: AppConversation[]; next_page_id: string | null }>(
      'GET',
      `${base}/app-conversations/search${query({ title__contains: search, execution_status__eq: status, page_id: page, limit: 50 })}`,
    );
    return { items: answer.items.map(summary), next: answer.next_page_id };
  }

  private async get(id: string): Promise<AppConversation | null> {
    const [found] = await request<(AppConversation | null)[]>('GET', `${base}/app-conversations${query({ ids: id })}`);
    return found ?? null;
  }

  async conversation(id: string): Promise<ConversationSummary | null> {
    const found = await this.get(id);
    return found && summary(found);
  }

  async start(task: NewTask): Promise<Started> {
    return { kind: 'task', id: await start(task) };
  }

  async rename(id: string, title: string): Promise<void> {
    await request('PATCH', `${base}/app-conversations/${id}`, { title });
  }

  async setTags(id: string, tags: Record<string, string>): Promise<void> {
    await request('PATCH', `${base}/app-conversations/${id}`, { tags });
  }

  async remove(id: string): Promise<void> {
    await request('DELETE', `${base}/app-conversations/${id}`);
  }

  async resume(id: string): Promise<void> {
    await request('POST', `${base}/app-conversations/${id}/resume`);
  }

  connect({ id, sessionKey }: ConversationSummary): Conversation {
    return sessionKey ? new AppServerConversation(dashed(id), sessionKey) : new StoredConversation(id);
  }

  async model() {
    try {
      const { agent_settings: agent, llm_api_key_set: keySet, default_llm_model: own } = await request<Settings>('GET', `${base}/settings`);
      const baseURL = agent.llm?.base_url ?? '';
      if (own && !keySet && baseURL === '') return { model: own, baseURL: '', keySet: true };
      return { model: agent.llm?.model ?? '', baseURL, keySet: keySet || baseURL !== '' };
    } catch (error) {
      if (error instanceof Failure && error.status === 404) return { model: '', baseURL: '', keySet: false };
      throw error;
    }
  }

  async setModel(choice: ModelChoice): Promise<void> {
    await request('POST', `${base}/settings`, { agent_settings_diff: { llm: llm(choice) } });
  }

  async models(): Promise<string[]> {
    const all: { provider: string | null; name: string }[] = [];
    for (let page: string | null = ''; page !== null; ) {
      const answer: { items: typeof all; next_page_id: string | null } = await request('GET', `${base}/config/models/search${query({ limit: 100, page_id: page })}`);
      all.push(...answer.items);
      page = answer.next_page_id;
    }
    return all.map((m) => (m.provider && !m.name.startsWith(`${m.provider}/`) ? `${m.provider}/${m.name}` : m.name));
  }

  async profiles(): Promise<Profile[]> {
    const answer = await request<{
      active_profile: string | null;
      profiles: { name: string; model: string | null; base_url: string | null; api_key_set: boolean }[];
    }>('GET', `${base}/settings/profiles`);
    return answer.profiles.map((p) => ({
      name: p.name,
      model: p.model ?? '',
      baseURL: p.base_url ?? '',
      keySet: p.api_key_set,
      active: p.name === answer.active_profile,
    }));
  }

  async saveProfile(name: string, choice: ModelChoice): Promise<void> {
    await request('POST', `${base}/settings/profiles/${encodeURIComponent(name)}`, { llm: llm(choice), include_secrets: true });
  }

  async activateProfile(name: string): Promise<void> {
    await request('POST', `${base}/settings/profiles/${encodeURIComponent(name)}/activate`);
  }

  async deleteProfile(name: string): Promise<void> {
    await request('DELETE', `${base}/settings/profiles/${encodeURIComponent(name)}`);
  }

  async secrets(): Promise<SecretName[]> {
    const { items } = await request<{ items: { name: string; description: string | null }[] }>('GET', `${base}/secrets/search${query({ limit: 100 })}`);
    return items.map((s) => ({ name: s.name, description: s.description ?? '' }));
  }

  async saveSecret(name: string, value: string, description: string): Promise<void> {
    await request('POST', `${base}/secrets`, { name, value, description });
  }

  async deleteSecret(name: string): Promise<void> {
    await request('DELETE', `${base}/secrets/${encodeURIComponent(name)}`);
  }
}

function llm(choice: ModelChoice) {
  return { model: choice.model, base_url: choice.baseURL || null, ...(choice.apiKey ? { api_key: choice.apiKey } : {}) };
}

function summary(c: AppConversation): ConversationSummary {
  return {
    id: c.id,
    title: c.title ?? tr('Untitled'),
    status: statusOf(c),
    createdAt: c.created_at,
    updatedAt: c.updated_at,
    costUSD: c.metrics?.accumulated_cost ?? null,
    model: c.llm_model,
    location: [c.selected_repository, c.selected_branch].filter(Boolean).join(' · '),
    shared: c.public,
    tags: c.tags,
    sandbox: sandboxOf(c),
    sessionKey: c.session_api_key,
    planner: c.agent_type === 'plan',
    parent: c.parent_conversation_id,
    parts: c.sub_conversation_ids,
  };
}

function statusOf(c: AppConversation): Status {
  switch (c.sandbox_status) {
    case 'RUNNING':
      return c.execution_status ?? 'idle';
    case 'STARTING':
      return 'starting';
    case 'ERROR':
      return 'lost';
    case 'PAUSED':
      return 'asleep';
    default:
      return c.sandbox_id ? 'archived' : 'stored';
  }
}

function sandboxOf(c: AppConversation): Sandbox {
  switch (c.sandbox_status) {
    case 'RUNNING':
      return 'running';
    case 'STARTING':
      return 'starting';
    case 'PAUSED':
      return 'paused';
    case 'ERROR':
      return 'lost';
    default:
      return c.sandbox_id ? 'archived' : 'none';
  }
}
