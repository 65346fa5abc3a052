// variables reads environment variables, NAME=value in a line each. wrong is the first line
// that is none. The server keeps none without a value.
export function variables(text: string): { env: Record<string, string>; wrong: string | null } {
  const env: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const found = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(line);
    if (!found) return { env: {}, wrong: line.trim() };
    env[found[1] ?? ''] = found[2] ?? '';
  }
  return { env, wrong: null };
}

// written are environment variables as [variables] reads them.
export const written = (env: Record<string, string>): string =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
