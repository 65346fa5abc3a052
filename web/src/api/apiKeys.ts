// API keys: programs use this server with them, as the user.
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

export interface ApiKey {
  id: number;
  name: string;
  created: string;
  lastUsed: string | null;
}

async function keys(): Promise<ApiKey[]> {
  const all = await request<{ id: number; name: string | null; created_at: string; last_used_at: string | null }[]>('GET', '/api/keys');
  return all.map((k) => ({ id: k.id, name: k.name ?? '', created: k.created_at, lastUsed: k.last_used_at }));
}

export const keysQuery = queryOptions({ queryKey: ['keys'], queryFn: keys });

// createKey returns the key, which is shown once.
export async function createKey(name: string): Promise<string> {
  const { key } = await request<{ key: string }>('POST', '/api/keys', { name });
  return key;
}

export async function deleteKey(id: number): Promise<void> {
  await request('DELETE', `/api/keys/${id}`);
}
