import type { Outcome } from '../events/item';

// exitCode returns the code of a command, 0 if there is none.
export function exitCode(outcome: Outcome | null): number {
  const code = outcome?.state === 'done' ? outcome.observation.exit_code : undefined;
  return typeof code === 'number' ? code : 0;
}

// hasError reports that a tool did not do its work.
export const hasError = (outcome: Outcome | null): boolean => outcome?.state === 'failed' || (outcome?.state === 'done' && outcome.observation.is_error === true);

export const hasFailed = (outcome: Outcome | null): boolean => hasError(outcome) || exitCode(outcome) > 0;
