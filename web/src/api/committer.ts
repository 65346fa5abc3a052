// The author of commits.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settings } from './settings';

// Committer has empty fields where Git's own configuration holds.
export interface Committer {
  name: string;
  email: string;
}

async function committer(): Promise<Committer> {
  const all = await settings();
  return { name: all.git_user_name ?? '', email: all.git_user_email ?? '' };
}

export const committerQuery = queryOptions({ queryKey: ['committer'], queryFn: committer });

export function setCommitter({ name, email }: Committer): Promise<void> {
  return changeSettings({ git_user_name: name, git_user_email: email });
}
