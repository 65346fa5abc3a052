// Programs in a sandbox that browsers can reach: listening ones, and VS Code.
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

const base = '/api/v1/app-conversations';

export interface Apps {
  items: { port: number; address: string; url: string | null }[]; // url: for browsers
  detail: string; // why they are unknown, or empty
}

export interface Editor {
  name: string; // of its program; empty: the sandbox has none
  url: string | null; // for browsers; null: it does not run
}

async function apps(id: string): Promise<Apps> {
  const { items, detail } = await request<{ items: Apps['items']; detail?: string | null }>('GET', `${base}/${id}/apps`);
  return { items, detail: detail ?? '' };
}

export const appsQuery = (id: string) => queryOptions({ queryKey: ['apps', id], queryFn: () => apps(id), refetchInterval: 5000, retry: false });

async function editor(id: string): Promise<Editor> {
  const { name, url } = await request<{ name: string | null; url: string | null }>('GET', `${base}/${id}/editor`);
  return { name: name ?? '', url };
}

export const editorQuery = (id: string) => queryOptions({ queryKey: ['editor', id], queryFn: () => editor(id), retry: false });

// openEditor starts VS Code, and returns its address.
export async function openEditor(id: string): Promise<string> {
  return (await request<{ url: string }>('POST', `${base}/${id}/editor`)).url;
}
