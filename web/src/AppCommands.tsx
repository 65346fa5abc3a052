import { useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { isDark, setTheme } from './design/theme';
import { settingsTabs } from './settings/tabs';
import { Palette } from './commands/Palette'; // not loaded later: keys after Ctrl+K must reach it
import { listen, useCommands, type Command } from './commands/registry';
import { tr } from './i18n/text';

// AppCommands are the commands of every page, and the palette.
export function AppCommands() {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  useEffect(() => listen(), []);
  const commands = useMemo<Command[]>(
    () => [
      { id: 'palette', group: tr('Page'), label: tr('Commands'), keys: 'Ctrl+K', run: () => setOpen(true) },
      { id: 'new', group: tr('Page'), label: tr('New task'), keys: 'Ctrl+Shift+O', run: () => navigate('/') },
      { id: 'all', group: tr('Page'), label: tr('All conversations'), run: () => navigate('/conversations') },
      { id: 'search', group: tr('Page'), label: tr('Search conversations'), run: () => document.getElementById('conversation-search')?.focus() },
      { id: 'keys', group: tr('Page'), label: tr('Show the keyboard map'), keys: 'Ctrl+/', run: () => navigate('/settings/keyboard') },
      { id: 'theme', group: tr('Page'), label: tr('Switch between light and dark'), run: () => setTheme(isDark() ? 'light' : 'dark') },
      ...settingsTabs.map((t) => ({ id: `settings-${t.name}`, group: tr('Settings'), label: t.label, run: () => navigate(`/settings/${t.name}`) })),
    ],
    [navigate],
  );
  useCommands(commands);
  if (!open) return null;
  return <Palette onClose={() => setOpen(false)} />;
}
