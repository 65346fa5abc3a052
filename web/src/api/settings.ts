// The user's settings, of which each feature has a part.
import { Failure } from './failure';
import { request } from './http';

export interface Settings {
  agent_settings: { mcp_config?: Record<string, unknown> };
  conversation_settings: { confirmation_mode?: boolean; security_analyzer?: string | null };
  provider_tokens_set: Record<string, string | null>;
  disabled_skills?: string[] | null;
  git_user_name?: string | null;
  git_user_email?: string | null;
}

// settings are empty before the user has stored any.
export async function settings(): Promise<Settings> {
  try {
    return await request<Settings>('GET', '/api/v1/settings');
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return { agent_settings: {}, conversation_settings: {}, provider_tokens_set: {} };
    throw error;
  }
}

export async function changeSettings(change: Record<string, unknown>): Promise<void> {
  await request('POST', '/api/v1/settings', change);
}
