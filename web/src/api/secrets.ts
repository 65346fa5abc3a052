// Secrets: variables of the agent's commands.
import { queryOptions } from '@tanstack/react-query';
import { query, request } from './http';

const base = '/api/v1/secrets';

export interface SecretName {
  name: string;
  description: string;
}

async function secrets(): Promise<SecretName[]> {
  const { items } = await request<{ items: { name: string; description: string | null }[] }>('GET', `${base}/search${query({ limit: 100 })}`);
  return items.map((s) => ({ name: s.name, description: s.description ?? '' }));
}

export const secretsQuery = queryOptions({ queryKey: ['secrets'], queryFn: secrets });

export async function saveSecret(name: string, value: string, description: string): Promise<void> {
  await request('POST', base, { name, value, description });
}

export async function deleteSecret(name: string): Promise<void> {
  await request('DELETE', `${base}/${encodeURIComponent(name)}`);
}
