import type { ObservationData } from '../api/event';
import type { Item } from './item';

// picturesOf are the pictures of an observation, as data URLs. Others are left out: an
// address would be asked for.
export function picturesOf(observation: ObservationData): string[] {
  const urls = (observation.content ?? []).flatMap((c) => c.image_urls ?? []);
  const screenshot = observation.screenshot_data;
  if (typeof screenshot === 'string' && screenshot) urls.push(screenshot.startsWith('data:') ? screenshot : `data:image/png;base64,${screenshot}`);
  return urls.filter((u) => u.startsWith('data:image/'));
}

// A Screenshot is a picture that a tool of a browser has made.
export interface Screenshot {
  id: string; // of the action
  time: string;
  tool: string;
  address: string; // that the page was opened at; empty: not known
  picture: string; // a data URL
}

// screenshots returns pictures of browsers, oldest first: of OpenHands' tools and of MCP servers.
export function screenshots(items: Item[]): Screenshot[] {
  const found: Screenshot[] = [];
  let address = '';
  for (const item of items) {
    if (item.type !== 'action' || !isBrowser(item.action.tool_name, item.action.action?.kind)) continue;
    const data = item.action.action?.data as { url?: unknown } | undefined;
    const url = item.action.action?.url ?? data?.url;
    if (typeof url === 'string') address = url;
    if (item.outcome?.state !== 'done') continue;
    for (const picture of picturesOf(item.outcome.observation)) found.push({ id: item.id, time: item.outcome.time, tool: item.action.tool_name, address, picture });
  }
  return found;
}

const isBrowser = (tool: string, kind = '') => kind.startsWith('Browser') || (kind === 'MCPToolAction' && /brows|playwright|puppeteer|chrom|screenshot/i.test(tool));

// ownActions counts the actions of Deft's own browser.
export const ownActions = (items: Item[]) => items.filter((i) => i.type === 'action' && i.action.action?.kind.startsWith('Browser') && i.outcome?.state === 'done').length;
