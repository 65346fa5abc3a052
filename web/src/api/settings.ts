// The user's settings. Each topic reads its part of the one answer, and changes it.
import { queryOptions } from '@tanstack/react-query';
import { Failure } from './failure';
import { request } from './http';

export interface Settings {
  agent_settings: {
    agent_kind?: string; // acp: another program
    llm?: { model?: string; base_url?: string | null };
    mcp_config?: Record<string, unknown>;
    agent_context?: { load_memory?: boolean };
    acp_server?: string;
    acp_command?: string[];
    acp_model?: string | null;
  };
  conversation_settings: { confirmation_mode?: boolean; security_analyzer?: string | null };
  llm_api_key_set: boolean;
  default_llm_model: string | null; // of the server, for users without a choice of their own
  provider_tokens_set: Record<string, string | null>;
  disabled_skills?: string[] | null;
  git_user_name?: string | null;
  git_user_email?: string | null;
  agent_preset?: 'default' | 'gpt5' | 'gemini';
  agent_more_tools?: string[];
}

const none: Settings = { agent_settings: {}, conversation_settings: {}, llm_api_key_set: false, default_llm_model: null, provider_tokens_set: {} };

// settings are empty before the user has stored any.
export async function settings(): Promise<Settings> {
  try {
    return await request<Settings>('GET', '/api/v1/settings');
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return none;
    throw error;
  }
}

export const settingsQuery = queryOptions({ queryKey: ['settings'], queryFn: settings });

export async function changeSettings(change: Record<string, unknown>): Promise<void> {
  await request('POST', '/api/v1/settings', change);
}
