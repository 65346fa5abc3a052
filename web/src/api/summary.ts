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
  location: string; // repository and branch
  shared: boolean; // everybody with its link can read it
  tags: Record<string, string>;
  sandbox: Sandbox;
  sessionKey: string | null; // of the running sandbox
  planner: boolean; // its agent plans, and changes nothing else
  parent: string | null; // the conversation that this one is a part of
  parts: string[]; // conversations that work on parts of this one
}

// Sandbox is the state of a conversation's sandbox. Archived: it was deleted, and its files
// were kept. None: another program made the conversation, for example `deft run`.
export type Sandbox = 'running' | 'starting' | 'paused' | 'archived' | 'lost' | 'none';

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
  | 'lost' // its files have vanished
  | 'archived'; // its sandbox was deleted

// AppConversation has the fields of the server's answer that the page reads.
export interface AppConversation {
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

export function summary(c: AppConversation): ConversationSummary {
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
