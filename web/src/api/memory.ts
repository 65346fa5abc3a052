// Memory files, which conversations begin with.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settingsQuery } from './settings';

export type Memory = 'none' | 'files';

export const memoryQuery = queryOptions({ ...settingsQuery, select: (s): Memory => (s.agent_settings.agent_context?.load_memory ? 'files' : 'none') });

export function setMemory(memory: Memory): Promise<void> {
  return changeSettings({ agent_settings_diff: { agent_context: { load_memory: memory === 'files' } } });
}
