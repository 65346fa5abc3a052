// When agents ask before they act: the setting for new conversations.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settings } from './settings';

// Preset names the actions that wait for the user.
export type Preset = 'never' | 'risky' | 'always';

export interface Safety {
  confirm: boolean;
  analyze: boolean; // only risky actions wait
}

async function safety(): Promise<Safety> {
  const { conversation_settings: c } = await settings();
  return { confirm: c.confirmation_mode ?? false, analyze: (c.security_analyzer ?? 'llm') === 'llm' };
}

export const safetyQuery = queryOptions({ queryKey: ['safety'], queryFn: safety });

export function setSafety({ confirm, analyze }: Safety): Promise<void> {
  return changeSettings({ conversation_settings_diff: { confirmation_mode: confirm, security_analyzer: analyze ? 'llm' : 'none' } });
}
