import type { Catalogue } from './catalogue';
import { conversation } from './de/conversation';
import { page } from './de/page';

export const de: Catalogue = { ...page, ...conversation };
