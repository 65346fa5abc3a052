// The user's plugins, and the marketplaces that name more.
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

export interface Plugin {
  name: string;
  version: string;
  description: string;
  enabled: boolean;
  installed: boolean; // it can be switched off, updated and removed
  source: string;
  commit: string | null;
  brings: string[];
  runs: string[]; // hooks and MCP servers, in words
  problems: string[];
}

export interface Plugins {
  available: boolean; // else this user has none
  plugins: Plugin[];
  problems: string[];
}

// A Placed plugin is installed, or waits until its hooks and MCP servers are allowed.
export interface Placed {
  installed: boolean;
  plugin: Plugin;
}

export interface Marketplace {
  name: string;
  source: string;
  ref: string | null;
  repo_path: string | null;
}

export interface Offer {
  name: string;
  version: string;
  description: string;
  why: string; // it cannot be installed
}

const base = '/api/v1/plugins';
const shops = '/api/v1/plugin-marketplaces';
const path = (name: string) => encodeURIComponent(name);

export const pluginsQuery = queryOptions({ queryKey: ['plugins'], queryFn: () => request<Plugins>('GET', base) });

// Source is a repository or directory; NAME@MARKETPLACE has neither ref nor directory.
export interface Source {
  source: string;
  ref: string | null;
  repo_path: string | null;
}

export function installPlugin(from: Source, allow: string[] | null): Promise<Placed> {
  return request('POST', base, { ...from, allow });
}

export function updatePlugin(name: string, allow: string[] | null): Promise<Placed> {
  return request('POST', `${base}/${path(name)}/update`, { allow });
}

export function switchPlugin(name: string, enabled: boolean): Promise<Plugin> {
  return request('PATCH', `${base}/${path(name)}`, { enabled });
}

export function removePlugin(name: string): Promise<void> {
  return request('DELETE', `${base}/${path(name)}`);
}

export const marketplacesQuery = queryOptions({
  queryKey: ['marketplaces'],
  queryFn: async () => (await request<{ marketplaces: Marketplace[] }>('GET', shops)).marketplaces,
});

export const offersQuery = (name: string) =>
  queryOptions({
    queryKey: ['marketplaces', name],
    queryFn: async () => (await request<{ plugins: Offer[] }>('GET', `${shops}/${path(name)}`)).plugins,
    staleTime: 60_000,
  });

export function addMarketplace(name: string, from: Source): Promise<void> {
  return request('POST', shops, { name, ...from });
}

export function removeMarketplace(name: string): Promise<void> {
  return request('DELETE', `${shops}/${path(name)}`);
}
