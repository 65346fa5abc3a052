// MCP servers, which give agents more tools.
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { Trial } from './models';
import { changeSettings, settingsQuery } from './settings';

// An McpServer is an entry of mcp_config. Secrets come masked, and are sent back masked.
export interface McpServer {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
  enabled?: boolean;
  [field: string]: unknown;
}

// A ServerTrial is the result of a connection to a server.
export interface ServerTrial extends Trial {
  tools: string[]; // their names
}

export const serversQuery = queryOptions({ ...settingsQuery, select: ({ agent_settings: { mcp_config: servers } }) => (servers ?? {}) as Record<string, McpServer> });

export function setServers(servers: Record<string, McpServer>): Promise<void> {
  return changeSettings({ agent_settings_diff: { mcp_config: { mcpServers: servers } } });
}

export async function testServer(name: string): Promise<ServerTrial> {
  const { works, message, tools } = await request<{ works: boolean; message: string | null; tools: string[] }>(
    'POST',
    `/api/v1/settings/mcp-servers/${encodeURIComponent(name)}/test`,
  );
  return { works, message: message ?? '', tools };
}
