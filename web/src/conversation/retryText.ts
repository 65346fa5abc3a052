import type { Retry } from '../events/timeline';
import { tr } from '../i18n/text';

// retryText says how a call of the model is made again.
export function retryText(r: Retry): string {
  if (r.change) return tr('The model refused the request ({detail}). Asking again: {change}', { detail: r.detail, change: r.change });
  if (r.next_model) return tr('{model} did not answer ({detail}). Asking {next}', { model: r.model ?? '', detail: r.detail, next: r.next_model });
  return tr('The model did not answer. Attempt {n} of {all}: {detail}', { n: (r.attempt ?? 0) + 1, all: r.attempts ?? 0, detail: r.detail });
}
