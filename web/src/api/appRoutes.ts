// The App Server's routes that a single agent server does not have.
import { Failure, readFailure } from './failure';
import { query, request } from './http';
import { again, forget, setupLog, startTask, unfinished } from './startTask';
import type { ApiKey, AppRoutes, Apps, Committer, Editor, FilesKept, HookConfig, Isolation, LocalModel, McpServer, Origin, PullRequest, Repository, Safety, ServerTrial, Skills, SuggestedTask, TakenOver, Trial, Undone, UsedSandbox } from './source';
import { tr } from '../i18n/text';

const base = '/api/v1';

interface Settings {
  agent_settings: { mcp_config?: Record<string, McpServer> };
  conversation_settings: { confirmation_mode?: boolean; security_analyzer?: string | null };
  provider_tokens_set: Record<string, string | null>;
  disabled_skills?: string[] | null;
  git_user_name?: string | null;
  git_user_email?: string | null;
}

export class Routes implements AppRoutes {
  readonly startTask = startTask;
  readonly startTasks = unfinished;
  readonly startAgain = again;
  readonly forgetStart = forget;
  readonly setupLog = setupLog;

  // settings are empty before the user has stored any.
  private async settings(): Promise<Settings> {
    try {
      return await request<Settings>('GET', `${base}/settings`);
    } catch (error) {
      if (error instanceof Failure && error.status === 404) return { agent_settings: {}, conversation_settings: {}, provider_tokens_set: {} };
      throw error;
    }
  }

  async demo(): Promise<string> {
    const { id } = await request<{ id: string }>('POST', `${base}/app-conversations/demo`, {});
    return id;
  }

  async takeRecorded(file: File, how: 'import' | 'replay'): Promise<string> {
    const response = await fetch(`${base}/app-conversations/${how}`, { method: 'POST', body: file });
    if (!response.ok) throw await readFailure(response);
    return ((await response.json()) as { id: string }).id;
  }

  async fork(id: string, event: string | null, sameFiles: boolean): Promise<string> {
    const fork = await request<{ id: string }>('POST', `${base}/app-conversations/${id}/fork`, { event_id: event, same_files: sameFiles });
    return fork.id;
  }

  async filesKept(id: string, event: string): Promise<FilesKept> {
    type Kept = { event_id: string | null; time: string | null; checkpoints: FilesKept['when']; slow: boolean };
    const kept = await request<Kept>('GET', `${base}/app-conversations/${id}/checkpoint${query({ event_id: event })}`);
    return { event: kept.event_id, time: kept.time, when: kept.checkpoints, slow: kept.slow };
  }

  async undo(id: string, event: string | null, keepFiles: boolean, preview: boolean): Promise<Undone> {
    type Done = { files_written: string[]; files_removed: string[]; checkout: { ref: string; commit: string } | null; checkout_kept: string | null };
    const done = await request<Done>('POST', `${base}/app-conversations/${id}/undo`, { event_id: event, keep_files: keepFiles, preview });
    const { checkout } = done;
    return {
      written: done.files_written,
      removed: done.files_removed,
      checkout: checkout ? `${checkout.ref.replace('refs/heads/', '')} (${checkout.commit.slice(0, 8)})` : '',
      checkoutKept: done.checkout_kept ?? '',
    };
  }

  async share(id: string, shared: boolean): Promise<void> {
    await request('PATCH', `${base}/app-conversations/${id}`, { public: shared });
  }

  async export(id: string): Promise<Blob> {
    const response = await fetch(`${base}/app-conversations/${id}/download`);
    if (!response.ok) throw await readFailure(response);
    return response.blob();
  }

  async usedSandboxes(): Promise<UsedSandbox[]> {
    type Found = { title: string | null; sandbox_id: string; sandbox_status: string };
    const { items } = await request<{ items: Found[] }>('GET', `${base}/app-conversations/search${query({ limit: 50 })}`);
    const all = new Map<string, UsedSandbox>();
    for (const c of items.filter((c) => c.sandbox_status === 'RUNNING' || c.sandbox_status === 'PAUSED')) {
      const known = all.get(c.sandbox_id) ?? { id: c.sandbox_id, titles: [] };
      all.set(c.sandbox_id, { ...known, titles: [...known.titles, c.title ?? tr('Untitled')] });
    }
    return [...all.values()];
  }

  private async sandboxOf(id: string): Promise<string> {
    const [found] = await request<({ sandbox_id: string } | null)[]>('GET', `${base}/app-conversations${query({ ids: id })}`);
    if (!found) throw new Failure(404, tr('There is no such conversation.'));
    return `${base}/sandboxes/${encodeURIComponent(found.sandbox_id)}`;
  }

  async pauseSandbox(id: string): Promise<void> {
    await request('POST', `${await this.sandboxOf(id)}/pause`);
  }

  async archive(id: string): Promise<void> {
    await request('DELETE', await this.sandboxOf(id));
  }

  async apps(id: string): Promise<Apps> {
    const { items, detail } = await request<{ items: Apps['items']; detail?: string | null }>('GET', `${base}/app-conversations/${id}/apps`);
    return { items, detail: detail ?? '' };
  }

  async editor(id: string): Promise<Editor> {
    const { name, url } = await request<{ name: string | null; url: string | null }>('GET', `${base}/app-conversations/${id}/editor`);
    return { name: name ?? '', url };
  }

  async openEditor(id: string): Promise<string> {
    return (await request<{ url: string }>('POST', `${base}/app-conversations/${id}/editor`)).url;
  }

  async origin(id: string): Promise<Origin> {
    type Found = { selected_repository: string | null; selected_branch: string | null; title: string | null; pr_number: number[] | null; pr_url?: Record<string, string> };
    const [found] = await request<(Found | null)[]>('GET', `${base}/app-conversations${query({ ids: id })}`);
    if (!found) throw new Failure(404, tr('There is no such conversation.'));
    return {
      repository: found.selected_repository ?? '',
      branch: found.selected_branch ?? '',
      title: found.title ?? '',
      pullRequests: (found.pr_number ?? []).map((number) => ({ number, url: found.pr_url?.[number] ?? '' })),
    };
  }

  async push(id: string, branch: string): Promise<void> {
    await request('POST', `${base}/app-conversations/${id}/git/push`, { branch });
  }

  async openPullRequest(id: string, p: { source: string; target: string; title: string; description: string; draft: boolean }): Promise<PullRequest> {
    const made = await request<{ number: number; url: string; warning: string | null }>('POST', `${base}/app-conversations/${id}/git/pull-request`, {
      source_branch: p.source,
      target_branch: p.target || null,
      title: p.title,
      description: p.description,
      draft: p.draft,
    });
    return { number: made.number, url: made.url, warning: made.warning ?? '' };
  }

  async sandboxSpec(): Promise<string> {
    const { items } = await request<{ items: { id: string }[] }>('GET', `${base}/sandbox-specs/search`);
    return items[0]?.id ?? '';
  }

  async localModels(): Promise<LocalModel[]> {
    try {
      const { items } = await request<{ items: { program: string; model: string; base_url: string }[] }>('GET', `${base}/settings/local-models`);
      return items.map((m) => ({ program: m.program, model: m.model, baseURL: m.base_url }));
    } catch (error) {
      if (error instanceof Failure && error.status === 403) return [];
      throw error;
    }
  }

  async testModel(profile: string | null): Promise<Trial> {
    const path = profile === null ? `${base}/settings/test` : `${base}/settings/profiles/${encodeURIComponent(profile)}/test`;
    const { works, message } = await request<{ works: boolean; message: string | null }>('POST', path);
    return { works, message: message ?? '' };
  }

  async keys(): Promise<ApiKey[]> {
    const all = await request<{ id: number; name: string | null; created_at: string; last_used_at: string | null }[]>('GET', '/api/keys');
    return all.map((k) => ({ id: k.id, name: k.name ?? '', created: k.created_at, lastUsed: k.last_used_at }));
  }

  async createKey(name: string): Promise<string> {
    const { key } = await request<{ key: string }>('POST', '/api/keys', { name });
    return key;
  }

  async deleteKey(id: number): Promise<void> {
    await request('DELETE', `/api/keys/${id}`);
  }

  async gitHosts(): Promise<Record<string, string | null>> {
    return (await this.settings()).provider_tokens_set;
  }

  // setGitToken keeps the tokens of the other providers: an empty token does so.
  async setGitToken(provider: string, token: string, host: string): Promise<void> {
    const kept = Object.entries(await this.gitHosts()).map(([name, at]) => [name, { token: '', host: at ?? '' }]);
    await request('POST', `${base}/secrets/git-providers`, { provider_tokens: { ...Object.fromEntries(kept), [provider]: { token, host } } });
  }

  async removeGitTokens(): Promise<void> {
    await request('DELETE', `${base}/secrets/git-providers`);
  }

  async suggestedTasks(): Promise<SuggestedTask[]> {
    const { items } = await request<{ items: { git_provider: string; task_type: string; repo: string; issue_number: number; title: string }[] }>(
      'GET',
      `${base}/git/suggested-tasks/search`,
    );
    return items.map((t) => ({ provider: t.git_provider, type: t.task_type, repository: t.repo, number: t.issue_number, title: t.title }));
  }

  async repositories(provider: string, text: string): Promise<Repository[]> {
    const { items } = await request<{ items: { full_name: string; main_branch: string | null; is_public: boolean }[] }>(
      'GET',
      `${base}/git/repositories/search${query({ provider, query: text, limit: 30 })}`,
    );
    return items.map((r) => ({ name: r.full_name, branch: r.main_branch ?? '', isPublic: r.is_public }));
  }

  async branches(provider: string, repository: string, text: string): Promise<string[]> {
    // The text is required, even an empty one.
    const { items } = await request<{ items: { name: string }[] }>(
      'GET',
      `${base}/git/branches/search${query({ provider, repository, limit: 30 })}&query=${encodeURIComponent(text)}`,
    );
    return items.map((b) => b.name);
  }

  async safety(): Promise<Safety> {
    const { conversation_settings: c } = await this.settings();
    return { confirm: c.confirmation_mode ?? false, analyze: (c.security_analyzer ?? 'llm') === 'llm' };
  }

  async setSafety({ confirm, analyze }: Safety): Promise<void> {
    await request('POST', `${base}/settings`, {
      conversation_settings_diff: { confirmation_mode: confirm, security_analyzer: analyze ? 'llm' : 'none' },
    });
  }

  async committer(): Promise<Committer> {
    const all = await this.settings();
    return { name: all.git_user_name ?? '', email: all.git_user_email ?? '' };
  }

  async setCommitter({ name, email }: Committer): Promise<void> {
    await request('POST', `${base}/settings`, { git_user_name: name, git_user_email: email });
  }

  async isolation(id: string | null): Promise<Isolation> {
    const answer = id === null ? request('POST', `${base}/sandbox-specs/try`) : request('GET', `${base}/app-conversations/${id}/isolation`);
    const { report, detail } = (await answer) as { report: Isolation['report']; detail: string | null };
    return { report, detail: detail ?? '' };
  }

  async hooks(id: string): Promise<HookConfig | null> {
    const { hooks } = await request<{ hooks: HookConfig | null }>('GET', `${base}/app-conversations/${id}/hooks`);
    return hooks;
  }

  async takeOver(files: { name: string; content: string }[], apply: boolean): Promise<TakenOver> {
    return request('POST', `${base}/settings/import`, { files, apply });
  }

  async servers(): Promise<Record<string, McpServer>> {
    return (await this.settings()).agent_settings.mcp_config ?? {};
  }

  async setServers(servers: Record<string, McpServer>): Promise<void> {
    await request('POST', `${base}/settings`, { agent_settings_diff: { mcp_config: { mcpServers: servers } } });
  }

  async testServer(name: string): Promise<ServerTrial> {
    const { works, message, tools } = await request<{ works: boolean; message: string | null; tools: string[] }>(
      'POST',
      `${base}/settings/mcp-servers/${encodeURIComponent(name)}/test`,
    );
    return { works, message: message ?? '', tools };
  }

  async skills(): Promise<Skills> {
    type Found = { name: string; source: string; triggers: string[] | null };
    const all: Found[] = [];
    for (let page: string | null = ''; page !== null; ) {
      const answer: { items: Found[]; next_page_id: string | null } = await request('GET', `${base}/skills/search${query({ limit: 100, page_id: page })}`);
      all.push(...answer.items);
      page = answer.next_page_id;
    }
    return {
      all: all.map((s) => ({ name: s.name, public: s.source === 'global', triggers: s.triggers ?? [] })),
      off: (await this.settings()).disabled_skills ?? [],
    };
  }

  async setSkillsOff(names: string[]): Promise<void> {
    await request('POST', `${base}/settings`, { disabled_skills: names });
  }
}
