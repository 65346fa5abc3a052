// The agent of new conversations: Deft's own, or another program (docs/acp.md).
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import { changeSettings, settingsQuery, type Settings } from './settings';

// An AgentProgram is a known one by its server's name, or custom.
export interface AgentProgram {
  server: string; // empty: Deft's own agent
  command: string[]; // of a custom one
  model: string; // empty: its own choice
}

// programIn is the program of the settings; null for Deft's own agent.
export function programIn({ agent_settings: a }: Settings): AgentProgram | null {
  if (a.agent_kind !== 'acp') return null;
  return { server: a.acp_server ?? 'claude-code', command: a.acp_command ?? [], model: a.acp_model ?? '' };
}

export const programQuery = queryOptions({ ...settingsQuery, select: programIn });

export function setProgram({ server, command, model }: AgentProgram): Promise<void> {
  if (server === '') return changeSettings({ agent_settings_diff: { agent_kind: 'openhands' } });
  return changeSettings({ agent_settings_diff: { agent_kind: 'acp', acp_server: server, acp_command: server === 'custom' ? command : [], acp_model: model || null } });
}

// A KnownProgram is one that the server knows how to start.
export interface KnownProgram {
  key: string;
  display_name: string;
  api_key_env_var: string | null; // the secret with which it logs in
}

async function known(): Promise<KnownProgram[]> {
  const { acp_providers: all } = await request<{ acp_providers: KnownProgram[] }>('GET', '/api/v1/web-client/config');
  return all;
}

export const knownProgramsQuery = queryOptions({ queryKey: ['agent-programs'], queryFn: known });
