// The chosen theme is kept in the browser: it belongs to the screen, not to the
// user. public/first.js applies it before the first paint.
export type Theme = 'system' | 'light' | 'dark';

const key = 'deft.theme';

export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function setTheme(chosen: Theme): void {
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, chosen);
  } catch {
    // Without storage the choice ends with the page.
  }
}

export function isDark(): boolean {
  const chosen = theme();
  return chosen === 'system' ? window.matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark';
}
