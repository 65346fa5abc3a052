// Starts of conversations: tasks of the server that go on without the page.
import { queryOptions } from '@tanstack/react-query';
import { tr } from '../i18n/text';
import type { Preset } from './confirmation';
import { Failure } from './failure';
import { query, request } from './http';
import { written, type Limits } from './limits';

const base = '/api/v1/app-conversations';

export const startTasksKey = ['start-tasks'] as const;

export interface NewTask {
  text: string;
  images: string[]; // data URLs
  repository?: string;
  branch?: string;
  provider?: string; // the repository's Git host
  directory?: string; // of the server's machine
  worktree?: boolean; // in a new Git worktree of its repository
  sandbox?: string; // an existing one, with its files; empty: a new one
  confirm?: Preset; // undefined: as the settings say
  limits?: Limits; // undefined: the usual ones
  network?: string; // that commands reach, in the server's words; undefined: the usual one
  plan?: boolean; // an agent that studies and plans, and changes nothing else
  parent?: string; // the conversation that the new one is a part of, and whose files it shares
}

// A StartTask is the progress of a start.
export interface StartTask {
  id: string;
  state: string; // in the server's words
  ended: 'ready' | 'failed' | null;
  reason: string; // of the failure
  failedAt: string; // the state in which it failed, or empty
  log: string; // output of the set-up
  conversation: string; // the id of the new conversation
  text: string; // the task in the user's words
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

// steps are the states of a start in their order; some come only with a repository.
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

// start begins a conversation, and returns the id of the start task.
export async function start(task: NewTask): Promise<string> {
  const content: unknown[] = [{ type: 'text', text: task.text }];
  if (task.images.length) content.push({ type: 'image', image_urls: task.images });
  const { id } = await request<Answer>('POST', base, {
    initial_message: { role: 'user', content, run: true },
    selected_repository: task.repository || null,
    selected_branch: task.branch || null,
    git_provider: task.provider || null,
    ...(task.directory ? { directory: task.directory, worktree: task.worktree ?? false } : {}),
    ...(task.sandbox ? { sandbox_id: task.sandbox } : {}),
    ...(task.confirm ? { confirm: task.confirm } : {}),
    ...(task.limits ? written(task.limits) : {}),
    ...(task.network ? { network: task.network } : {}),
    ...(task.plan ? { agent_type: 'plan' } : {}),
    ...(task.parent ? { parent_conversation_id: task.parent } : {}),
  });
  return id;
}

async function startTask(id: string): Promise<StartTask | null> {
  const [found] = await request<(Answer | null)[]>('GET', `${base}/start-tasks${query({ ids: id })}`);
  return found ? read(found) : null;
}

export const startTaskQuery = (id: string) =>
  queryOptions({ queryKey: ['start-task', id], queryFn: () => startTask(id), refetchInterval: ({ state }) => (state.data?.ended || state.data === null ? false : 400) });

// unfinished returns the newest starts that are at work or have failed.
async function unfinished(): Promise<StartTask[]> {
  const { items } = await request<{ items: Answer[] }>('GET', `${base}/start-tasks/search${query({ limit: 50 })}`);
  return items.map(read).filter((t) => t.ended !== 'ready');
}

export const startTasksQuery = queryOptions({
  queryKey: startTasksKey,
  queryFn: unfinished,
  refetchInterval: ({ state }) => (state.data?.some((t) => t.ended === null) ? 1000 : 10_000),
});

// setupLog returns the output of a conversation's set-up; empty: there was none.
async function setupLog(conversation: string): Promise<string> {
  const { items } = await request<{ items: Answer[] }>('GET', `${base}/start-tasks/search${query({ conversation_id__eq: conversation, limit: 1 })}`);
  return items[0] ? read(items[0]).log : '';
}

export const setupLogQuery = (conversation: string) => queryOptions({ queryKey: ['setup-log', conversation], queryFn: () => setupLog(conversation) });

// startAgain repeats a failed start, and forgets the failed one.
export async function startAgain(failed: StartTask): Promise<string> {
  const { conversation_id: _, ...same } = failed.request;
  const { id } = await request<Answer>('POST', base, same);
  await forgetStart(failed);
  return id;
}

// forgetStart removes a failed start and its leftovers.
export async function forgetStart(failed: StartTask): Promise<void> {
  try {
    await request('DELETE', `${base}/${failed.conversation}`);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) throw error;
  }
}
