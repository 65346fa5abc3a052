// MCP servers, which give agents more tools.
import { queryOptions } from '@tanstack/react-query';
import { withoutFlags } from './failure';
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
  return { works, message: withoutFlags(message ?? ''), tools };
}

// loginsQuery names the servers at which the user is logged in. Its key begins with the settings': other addresses
// have other logins.
export const loginsQuery = queryOptions({
  queryKey: [...settingsQuery.queryKey, 'mcp-logins'],
  queryFn: async () => (await request<{ servers: string[] }>('GET', '/api/v1/settings/mcp-servers/logins')).servers,
});

// beginLogin returns the address at which the user logs in at a server.
export async function beginLogin(name: string): Promise<string> {
  return (await request<{ authorization_url: string }>('POST', `/api/v1/settings/mcp-servers/${encodeURIComponent(name)}/login`)).authorization_url;
}

// endLogin gives the server the query of the browser's redirect, and returns the result of the login.
export async function endLogin(query: URLSearchParams): Promise<Trial & { name: string }> {
  const fields = ['state', 'code', 'iss', 'error', 'error_description'].flatMap((field) => (query.has(field) ? [[field, query.get(field)]] : []));
  const { works, message, name } = await request<{ works: boolean; message: string | null; name: string }>(
    'POST',
    '/api/v1/settings/mcp-servers/logins',
    Object.fromEntries(fields),
  );
  return { works, message: message ?? '', name };
}

export async function logOut(name: string): Promise<void> {
  await request('DELETE', `/api/v1/settings/mcp-servers/${encodeURIComponent(name)}/login`);
}
