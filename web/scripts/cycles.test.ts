// No module of the page imports itself by way of others; imports of types, and of scripts that
// are loaded later, count too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

type Imports = ReadonlyMap<string, string[]>;

// importsIn returns the modules below a directory, with the modules that each one imports.
function importsIn(root: string): Imports {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name) && !name.includes('generated'));
  return new Map(
    files.map((name) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(root, name), 'utf8'), true, true);
      const own = importedFiles.map((f) => f.fileName).filter((f) => f.startsWith('.'));
      return [name, own.map((f) => relative(root, resolved(join(root, dirname(name), f))))];
    }),
  );
}

const resolved = (path: string): string => ['.ts', '.tsx', ''].map((ending) => path + ending).find(existsSync) ?? path;

// cycleIn returns the modules of a cycle in their order; null: there is none.
function cycleIn(imports: Imports): string[] | null {
  const done = new Set<string>();
  const visit = (name: string, path: string[]): string[] | null => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const next of imports.get(name) ?? []) {
      const found = visit(next, [...path, name]);
      if (found) return found;
    }
    done.add(name);
    return null;
  };
  for (const name of imports.keys()) {
    const found = visit(name, []);
    if (found) return found;
  }
  return null;
}

it('has no cycle of imports', () => {
  const imports = importsIn(join(import.meta.dirname, '../src'));
  expect(imports.get('app.tsx')).toContain('conversation/ConversationPage.tsx'); // which is loaded later
  expect(imports.get('events/store.ts')).toContain('api/conversation.ts'); // for a type
  expect(cycleIn(imports)).toBeNull();
});

it('finds a cycle', () => {
  expect(cycleIn(new Map([['a', ['b', 'c']], ['b', []], ['c', ['d']], ['d', ['c', 'b']]]))).toEqual(['c', 'd', 'c']);
});
