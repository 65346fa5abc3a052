// The summary of a conversation, as lists show it.
import { tr } from '../i18n/text';

export interface ConversationSummary {
  id: string;
  title: string;
  status: Status;
  createdAt: string; // ISO 8601 with a zone, like updatedAt
  updatedAt: string;
  costUSD: number | null;
  model: string | null;
  location: string; // repository and branch, or the directory
  shared: boolean; // everybody with its link can read it
  tags: Record<string, string>;
  directory: string; // of the server's machine, where it works or can go on; empty: another place
  sandbox: Sandbox;
  sessionKey: string | null; // of the running sandbox
  planner: boolean; // its agent plans, and changes nothing else
  parent: string | null; // the conversation that this one is a part of
  parts: string[]; // conversations that work on parts of this one
}

// Sandbox is the state of a conversation's sandbox. Archived: it was deleted, and its files
// were kept. Terminal: `deft run` made the conversation, and it can go on here. None: another program
// made it, and it can only be read.
export type Sandbox = 'running' | 'starting' | 'paused' | 'archived' | 'lost' | 'terminal' | 'none';

export type Status =
  | 'starting'
  | 'idle'
  | 'running'
  | 'paused'
  | 'waiting_for_confirmation'
  | 'finished'
  | 'error'
  | 'stuck'
  | 'asleep' // its sandbox is paused
  | 'stored' // it can only be read
  | 'terminal' // `deft run` made it, and it can go on here
  | 'lost' // its files have vanished
  | 'archived'; // its sandbox was deleted

// Titled has a title, or the first message in its place until a model has written one.
export interface Titled {
  title: string | null;
  provisional_title?: string;
}

// AppConversation has the fields of the server's answer that the page reads.
export interface AppConversation extends Titled {
  id: string;
  selected_repository: string | null;
  selected_branch: string | null;
  directory: string | null;
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

export function summary(c: AppConversation): ConversationSummary {
  return {
    id: c.id,
    title: titleOf(c),
    status: statusOf(c),
    createdAt: c.created_at,
    updatedAt: c.updated_at,
    costUSD: c.metrics?.accumulated_cost ?? null,
    model: c.llm_model,
    location: c.directory || [c.selected_repository, c.selected_branch].filter(Boolean).join(' · '),
    directory: c.directory ?? '',
    shared: c.public,
    tags: c.tags,
    sandbox: sandboxOf(c),
    sessionKey: c.session_api_key,
    planner: c.agent_type === 'plan',
    parent: c.parent_conversation_id,
    parts: c.sub_conversation_ids,
  };
}

export const titleOf = (c: Titled): string => c.title ?? c.provisional_title ?? tr('Untitled');

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
      return c.sandbox_id ? 'archived' : c.directory ? 'terminal' : 'stored';
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
      return c.sandbox_id ? 'archived' : c.directory ? 'terminal' : 'none';
  }
}
