// The rows of the panel Changes: differences since the work began, committed or not.
import type { Change, GitStatus } from '../api/git';

export interface Row {
  path: string; // relative to the directory
  change: Change;
  // The staged part of an uncommitted file; null: committed, or without a repository.
  staged: 'none' | 'part' | 'all' | null;
  conflicted: boolean;
  repository: boolean; // it is a Git repository within this one
}

export function rows(changes: Change[], status: GitStatus | null): Row[] {
  const open = new Map((status?.files ?? []).map((f) => [f.path, f]));
  const found = changes.map((c): Row => {
    // A rename is two files to Git's status.
    const files = pathsOf(c).flatMap((path) => open.get(path) ?? []);
    for (const f of files) open.delete(f.path);
    return { path: c.path, change: c, staged: extent(files), conflicted: files.some((f) => f.conflicted), repository: files.some((f) => f.repository) };
  });
  // An uncommitted file may equal its state when the work began.
  for (const f of open.values()) {
    const change: Change = { status: 'UPDATED', path: f.path, added: null, deleted: null, binary: false };
    found.push({ path: f.path, change, staged: extent([f]), conflicted: f.conflicted, repository: f.repository });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function extent(files: GitStatus['files']): Row['staged'] {
  if (files.length === 0) return null;
  if (!files.some((f) => f.staged)) return 'none';
  return files.some((f) => f.unstaged) ? 'part' : 'all';
}

// pathsOf are the files that a change touches.
export function pathsOf(c: Change): string[] {
  return c.from === undefined ? [c.path] : [c.path, c.from];
}

// total is the number of lines that were added and deleted, null where none was counted.
export function total(rows: Row[]): { added: number; deleted: number } | null {
  const counted = rows.filter((r) => r.change.added !== null);
  if (counted.length === 0) return null;
  const sum = (of: 'added' | 'deleted') => counted.reduce((n, r) => n + (r.change[of] ?? 0), 0);
  return { added: sum('added'), deleted: sum('deleted') };
}

// A line of the list: a directory, or a file in the one above it.
export type Line = { name: string; depth: number } & ({ directory: string; open: boolean } | { directory: null; row: Row });

interface Directory {
  path: string;
  directories: Map<string, Directory>;
  files: { name: string; row: Row }[];
}

// lines lists rows as a tree: directories first, each with its content unless it is
// closed. Directories with nothing but one directory are one line with it: a/b/c.
export function lines(rows: Row[], closed: ReadonlySet<string>): Line[] {
  const top: Directory = { path: '', directories: new Map(), files: [] };
  for (const row of rows) {
    const parts = row.path.split(/\/(?!$)/); // Git ends a repository within this one with a slash
    const name = parts.pop()!;
    let at = top;
    for (const [i, part] of parts.entries()) {
      let below = at.directories.get(part);
      if (!below) at.directories.set(part, (below = { path: i === 0 ? part : `${at.path}/${part}`, directories: new Map(), files: [] }));
      at = below;
    }
    at.files.push({ name, row });
  }
  const found: Line[] = [];
  const list = (at: Directory, depth: number) => {
    const directories = [...at.directories].map(([name, below]) => fold(name, below));
    for (const { name, below } of directories.sort(byName)) {
      const open = !closed.has(below.path);
      found.push({ name, depth, directory: below.path, open });
      if (open) list(below, depth + 1);
    }
    for (const { name, row } of at.files.sort(byName)) found.push({ name, depth, directory: null, row });
  };
  list(top, 0);
  return found;
}

function fold(name: string, below: Directory): { name: string; below: Directory } {
  while (below.files.length === 0 && below.directories.size === 1) {
    const [next, only] = [...below.directories][0]!;
    name += `/${next}`;
    below = only;
  }
  return { name, below };
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name.localeCompare(b.name);
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
