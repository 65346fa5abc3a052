// The rows of the panel Changes: what differs from where the work began, and what of it
// is not committed.
import type { Change, GitStatus } from '../api/conversation';

export interface Row {
  path: string; // relative to the directory
  status: Change['status'];
  // What is staged of a file that is not committed; null: it is, or has no repository here.
  staged: 'none' | 'part' | 'all' | null;
  conflicted: boolean;
}

export function rows(changes: Change[], status: GitStatus | null): Row[] {
  const open = new Map((status?.files ?? []).map((f) => [f.path, f]));
  const found = changes.map((c): Row => {
    const f = open.get(c.path);
    open.delete(c.path);
    return { path: c.path, status: c.status, staged: f ? extent(f) : null, conflicted: f?.conflicted ?? false };
  });
  // What is not committed may be what it was where the work began.
  for (const f of open.values()) found.push({ path: f.path, status: 'UPDATED', staged: extent(f), conflicted: f.conflicted });
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function extent(f: GitStatus['files'][number]): Row['staged'] {
  if (!f.staged) return 'none';
  return f.unstaged ? 'part' : 'all';
}

// branchFor proposes the name of a branch for work that is on the branch that it is for.
export function branchFor(current: string | null, base: string, title: string): string {
  if (current && current !== base && !['main', 'master', 'develop', 'trunk'].includes(current)) return current;
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return `deft/${words || 'work'}`;
}
