import type { ModelChoice } from '../api/models';
import { addressOf } from '../design/address';

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
