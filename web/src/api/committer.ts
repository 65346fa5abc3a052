// The author of commits.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settingsQuery } from './settings';

// Committer has empty fields where Git's own configuration holds.
export interface Committer {
  name: string;
  email: string;
}

export const committerQuery = queryOptions({
  ...settingsQuery,
  select: ({ git_user_name: name, git_user_email: email }): Committer => ({ name: name ?? '', email: email ?? '' }),
});

export function setCommitter({ name, email }: Committer): Promise<void> {
  return changeSettings({ git_user_name: name, git_user_email: email });
}
