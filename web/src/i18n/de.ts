import type { Catalogue } from './catalogue';
import { conversation } from './de/conversation';
import { page } from './de/page';
import { panels } from './de/panels';
import { settings } from './de/settings';

export const de: Catalogue = { ...page, ...conversation, ...panels, ...settings };
