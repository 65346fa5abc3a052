// Templates of tasks that the user has kept. They belong to this browser.
const key = 'deft.templates';
const most = 20;

export function templates(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(kept) ? kept.filter((t) => typeof t === 'string') : [];
  } catch {
    return [];
  }
}

// keep stores a template, the newest first, and returns all.
export function keep(text: string): string[] {
  return store([text, ...templates().filter((t) => t !== text)].slice(0, most));
}

export function drop(text: string): string[] {
  return store(templates().filter((t) => t !== text));
}

function store(all: string[]): string[] {
  try {
    localStorage.setItem(key, JSON.stringify(all));
  } catch {
    return templates(); // the browser keeps nothing
  }
  return all;
}
