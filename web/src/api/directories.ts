// Directories of the server's machine in which tasks can work, where the server is its user's own.
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

export interface Directory {
  path: string;
  git: boolean; // a worktree can be made
}

export interface Directories {
  refused: string; // why there are none; empty: they can be chosen
  proposed: Directory | null; // the project in which the server was started
  recent: Directory[];
}

export const directoriesQuery = queryOptions({ queryKey: ['directories'], queryFn: () => request<Directories>('GET', '/api/v1/directories'), staleTime: 10_000 });
