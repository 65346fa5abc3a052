// The actions for which agents ask the user first.
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import { changeSettings, settingsQuery, type Settings } from './settings';

// Preset names the actions that wait for the user.
export type Preset = 'never' | 'risky' | 'always';

// presetIn reads the preset of new conversations, which the settings have in OpenHands' form.
function presetIn({ conversation_settings: { confirmation_mode: confirm = true, security_analyzer: analyzer } }: Settings): Preset {
  if (!confirm) return 'never';
  return (analyzer ?? 'llm') === 'llm' ? 'risky' : 'always';
}

export const presetQuery = queryOptions({ ...settingsQuery, select: presetIn });

export function setPreset(preset: Preset): Promise<void> {
  return changeSettings({ conversation_settings_diff: { confirmation_mode: preset !== 'never', security_analyzer: preset === 'always' ? 'none' : 'llm' } });
}

// setConfirm changes the preset of one conversation.
export async function setConfirm(conversation: Conversation, confirm: Preset): Promise<void> {
  await conversation.ask('POST', 'confirm', { confirm });
}
