// The model that agents use, named models (profiles), and the models that can be chosen.
import { queryOptions } from '@tanstack/react-query';
import { programIn } from './agentProgram';
import { Failure, withoutFlags } from './failure';
import { query, request } from './http';
import { changeSettings, settingsQuery, type Settings } from './settings';

const base = '/api/v1/settings';

// A Model is not set up yet without a name or a key.
export interface Model {
  model: string;
  baseURL: string; // empty: the provider's
  keySet: boolean;
}

export interface ModelChoice {
  model: string;
  baseURL: string; // empty: the provider's
  apiKey: string; // empty: unchanged
}

export interface Profile extends Model {
  name: string;
  active: boolean;
}

// A LocalModel is served by a program on the server's machine.
export interface LocalModel {
  program: string;
  model: string;
  baseURL: string;
}

// A Trial is the result of a small request to a model.
export interface Trial {
  works: boolean;
  message: string;
}

function modelIn(settings: Settings): Model {
  const program = programIn(settings);
  if (program) return { model: program.model || program.server, baseURL: '', keySet: true }; // which it has itself
  const { agent_settings: { llm }, llm_api_key_set: keySet, default_llm_model: own } = settings;
  const baseURL = llm?.base_url ?? '';
  if (own && !keySet && baseURL === '') return { model: own, baseURL: '', keySet: true };
  return { model: llm?.model ?? '', baseURL, keySet: keySet || baseURL !== '' };
}

export const modelQuery = queryOptions({ ...settingsQuery, select: modelIn });

export function setModel(choice: ModelChoice): Promise<void> {
  return changeSettings({ agent_settings_diff: { llm: llm(choice) } });
}

function llm(choice: ModelChoice) {
  return { model: choice.model, base_url: choice.baseURL || null, ...(choice.apiKey ? { api_key: choice.apiKey } : {}) };
}

async function modelNames(): Promise<string[]> {
  const all: { provider: string | null; name: string }[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const answer: { items: typeof all; next_page_id: string | null } = await request('GET', `/api/v1/config/models/search${query({ limit: 100, page_id: page })}`);
    all.push(...answer.items);
    page = answer.next_page_id;
  }
  return all.map((m) => (m.provider && !m.name.startsWith(`${m.provider}/`) ? `${m.provider}/${m.name}` : m.name));
}

export const modelNamesQuery = queryOptions({ queryKey: ['model-names'], queryFn: modelNames });

// localModels returns nothing where the server does not look.
async function localModels(): Promise<LocalModel[]> {
  try {
    const { items } = await request<{ items: { program: string; model: string; base_url: string }[] }>('GET', `${base}/local-models`);
    return items.map((m) => ({ program: m.program, model: m.model, baseURL: m.base_url }));
  } catch (error) {
    if (error instanceof Failure && error.status === 403) return [];
    throw error;
  }
}

export const localModelsQuery = queryOptions({ queryKey: ['local-models'], queryFn: localModels, retry: false });

async function profiles(): Promise<Profile[]> {
  const answer = await request<{
    active_profile: string | null;
    profiles: { name: string; model: string | null; base_url: string | null; api_key_set: boolean }[];
  }>('GET', `${base}/profiles`);
  return answer.profiles.map((p) => ({
    name: p.name,
    model: p.model ?? '',
    baseURL: p.base_url ?? '',
    keySet: p.api_key_set,
    active: p.name === answer.active_profile,
  }));
}

export const profilesQuery = queryOptions({ queryKey: ['profiles'], queryFn: profiles });

const profile = (name: string) => `${base}/profiles/${encodeURIComponent(name)}`;

export async function saveProfile(name: string, choice: ModelChoice): Promise<void> {
  await request('POST', profile(name), { llm: llm(choice), include_secrets: true });
}

export async function activateProfile(name: string): Promise<void> {
  await request('POST', `${profile(name)}/activate`);
}

export async function deleteProfile(name: string): Promise<void> {
  await request('DELETE', profile(name));
}

// testModel tries a profile; null stands for the model in the settings.
export const testModel = (name: string | null): Promise<Trial> => tried(name === null ? `${base}/test` : `${profile(name)}/test`);

// testChoice tries a model before it is stored.
export const testChoice = (choice: ModelChoice): Promise<Trial> => tried(`${base}/test`, { llm: llm(choice) });

async function tried(path: string, body?: unknown): Promise<Trial> {
  const { works, message } = await request<{ works: boolean; message: string | null }>('POST', path, body);
  return { works, message: withoutFlags(message ?? '') };
}
