// The start of a conversation by the App Server: a task that goes on without the page.
import { Failure } from './failure';
import { query, request } from './http';
import type { NewTask } from './source';
import { tr } from '../i18n/text';

const base = '/api/v1/app-conversations';

// A StartTask is how far the start of a conversation is.
export interface StartTask {
  id: string;
  state: string; // the contract's
  ended: 'ready' | 'failed' | null;
  reason: string; // why it failed
  failedAt: string; // the state in which it failed, or empty
  log: string; // what the set-up printed
  conversation: string; // that it makes
  text: string; // the task, as it was written
  repository: string;
  created: string;
  request: StartRequest;
}

interface StartRequest {
  conversation_id?: string;
  initial_message?: { content?: { type: string; text?: string }[] } | null;
  selected_repository?: string | null;
  [field: string]: unknown;
}

interface Answer {
  id: string;
  status: string;
  detail: string | null;
  app_conversation_id: string | null;
  request: StartRequest | null;
  setup_log?: string | null;
  failed_at?: string | null;
  created_at: string;
}

// steps are the states of a start in their order. Those of a repository come only with one.
export const steps: { state: string; label: string; repository: boolean }[] = [
  { state: 'WORKING', label: tr('Preparing'), repository: false },
  { state: 'WAITING_FOR_SANDBOX', label: tr('Starting the sandbox'), repository: false },
  { state: 'PREPARING_REPOSITORY', label: tr('Cloning the repository'), repository: true },
  { state: 'RUNNING_SETUP_SCRIPT', label: tr('Running the setup script'), repository: true },
  { state: 'SETTING_UP_GIT_HOOKS', label: tr('Setting up git hooks'), repository: true },
  { state: 'STARTING_CONVERSATION', label: tr('Starting the agent'), repository: false },
];

export const stepText = (state: string): string => steps.find((s) => s.state === state)?.label ?? tr('Starting');

function read(a: Answer): StartTask {
  const asked = a.request ?? {};
  return {
    id: a.id,
    state: a.status,
    ended: a.status === 'READY' ? 'ready' : a.status === 'ERROR' ? 'failed' : null,
    reason: a.detail ?? '',
    failedAt: a.failed_at ?? '',
    log: a.setup_log?.trim() ?? '',
    conversation: a.app_conversation_id ?? asked.conversation_id ?? '',
    text: (asked.initial_message?.content ?? []).map((c) => c.text ?? '').join('\n').trim(),
    repository: asked.selected_repository ?? '',
    created: a.created_at,
    request: asked,
  };
}

export async function start(task: NewTask): Promise<string> {
  const content: unknown[] = [{ type: 'text', text: task.text }];
  if (task.images.length) content.push({ type: 'image', image_urls: task.images });
  const { id } = await request<Answer>('POST', base, {
    initial_message: { role: 'user', content, run: true },
    selected_repository: task.repository || null,
    selected_branch: task.branch || null,
    git_provider: task.provider || null,
    ...(task.sandbox ? { sandbox_id: task.sandbox } : {}),
    confirmation_mode: task.confirm,
    ...(task.plan ? { agent_type: 'plan' } : {}),
    ...(task.parent ? { parent_conversation_id: task.parent } : {}),
  });
  return id;
}

export async function startTask(id: string): Promise<StartTask | null> {
  const [found] = await request<(Answer | null)[]>('GET', `${base}/start-tasks${query({ ids: id })}`);
  return found ? read(found) : null;
}

// unfinished are the newest starts that are at work or have failed.
export async function unfinished(): Promise<StartTask[]> {
  const { items } = await request<{ items: Answer[] }>('GET', `${base}/start-tasks/search${query({ limit: 50 })}`);
  return items.map(read).filter((t) => t.ended !== 'ready');
}

// setupLog is what the set-up of a conversation printed; empty: nothing, or it had none.
export async function setupLog(conversation: string): Promise<string> {
  const { items } = await request<{ items: Answer[] }>('GET', `${base}/start-tasks/search${query({ conversation_id__eq: conversation, limit: 1 })}`);
  return items[0] ? read(items[0]).log : '';
}

// again starts what has failed once more, and forgets the failed start.
export async function again(task: StartTask): Promise<string> {
  const { conversation_id: _, ...same } = task.request;
  const { id } = await request<Answer>('POST', base, same);
  await forget(task);
  return id;
}

// forget removes a start that has failed, with what it left.
export async function forget(task: StartTask): Promise<void> {
  try {
    await request('DELETE', `${base}/${task.conversation}`);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) throw error;
  }
}
