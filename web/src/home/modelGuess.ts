import type { ModelChoice } from '../api/models';

// Forms of API keys, most special first, and models of each provider by
// preference. The first one that the server lists is proposed.
const providers: { key: RegExp; models: RegExp[] }[] = [
  { key: /^sk-ant-/, models: [/^anthropic\/claude-sonnet/, /^anthropic\//] },
  { key: /^sk-or-/, models: [/^openrouter\//] },
  { key: /^AIza/, models: [/^gemini\/gemini-.*pro/, /^gemini\//] },
  { key: /^gsk_/, models: [/^groq\//] },
  { key: /^xai-/, models: [/^xai\//] },
  { key: /^sk-/, models: [/^openai\/gpt-5/, /^openai\//] },
];

const scheme = /^([a-z][a-z\d+.-]*):\/\//i;

// Hosts as people write them without a scheme. A key has neither a port nor a path, and its letters are
// not all small ones with a dot between.
const hostOnly = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]|(?=.*\.)[a-z\d.-]+\.[a-z]{2,})$/;
const hostWithMore = /^([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5}(?:\/\S*)?)$|^(localhost|[\w-]+(?:\.[\w-]+)+|\[[\da-f:.]+\])\/\S*$/i;

// A name with a dot that leads out of the own network.
const isPublic = (host: string): boolean => /\.[a-z]{2,}$/i.test(host) && !/\.(?:local|localhost|lan|home|internal|test|arpa)$/i.test(host);

// addressOf is the address that a text means, which may lack its scheme; empty: the text is none.
export function addressOf(value: string): string {
  const text = value.trim();
  if (/^https?:\/\/./i.test(text)) return text;
  if (scheme.test(text)) return '';
  const found = hostWithMore.exec(text);
  const host = found ? (found[1] ?? found[2] ?? '') : hostOnly.test(text) ? text : '';
  return host && `${isPublic(host) ? 'https' : 'http'}://${text}`;
}

// otherScheme is the scheme of a text that is the address of anything but a model; empty: it is not.
export function otherScheme(value: string): string {
  const found = scheme.exec(value.trim())?.[1]?.toLowerCase() ?? '';
  return found === 'http' || found === 'https' ? '' : found;
}

// guess says which model a key or an address stands for; an empty model if that
// is not clear. `models` are the names that the server knows.
export function guess(value: string, models: string[]): ModelChoice {
  const text = value.trim();
  const address = addressOf(text);
  if (address) {
    const url = address.replace(/\/+$/, '');
    return { model: '', baseURL: /\/v\d+$/.test(url) ? url : `${url}/v1`, apiKey: 'local' };
  }
  const provider = providers.find((p) => p.key.test(text));
  for (const wanted of provider?.models ?? []) {
    const model = models.find((m) => wanted.test(m));
    if (model) return { model, baseURL: '', apiKey: text };
  }
  return { model: '', baseURL: '', apiKey: text };
}
