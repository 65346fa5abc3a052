import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { isDark, setTheme } from '../design/theme';
import { settingsTabs } from '../settings/tabs';
import { useSource } from '../api/context';
import { listen, useCommands, type Command } from './registry';

const Palette = lazy(() => import('./Palette'));

// AppCommands are the commands of every page, and the palette.
export function AppCommands() {
  const [, navigate] = useLocation();
  const source = useSource();
  const [open, setOpen] = useState(false);
  useEffect(() => listen(), []);
  const commands = useMemo<Command[]>(
    () => [
      { id: 'palette', group: 'Page', label: 'Commands', keys: 'Ctrl+K', run: () => setOpen(true) },
      { id: 'new', group: 'Page', label: 'New task', keys: 'C', run: () => navigate('/') },
      { id: 'all', group: 'Page', label: 'All conversations', keys: 'A', run: () => navigate('/conversations') },
      { id: 'search', group: 'Page', label: 'Search conversations', keys: '/', run: () => document.getElementById('conversation-search')?.focus() },
      { id: 'keys', group: 'Page', label: 'Show the keyboard map', keys: '?', run: () => navigate('/settings/keyboard') },
      { id: 'theme', group: 'Page', label: 'Switch between light and dark', run: () => setTheme(isDark() ? 'light' : 'dark') },
      ...settingsTabs(source).map((t) => ({ id: `settings-${t.name}`, group: 'Settings', label: t.label, run: () => navigate(`/settings/${t.name}`) })),
    ],
    [navigate, source],
  );
  useCommands(commands);
  if (!open) return null;
  return (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  );
}
