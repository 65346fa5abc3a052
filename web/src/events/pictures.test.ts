import { describe, expect, it } from 'vitest';
import type { Event } from '../api/event';
import { screenshots } from './pictures';
import { append, empty } from './timeline';

let clock = 0;

const event = (kind: string, fields: Record<string, unknown>): Event => {
  const n = String(++clock).padStart(6, '0');
  return { id: `e${n}`, timestamp: `2026-11-24T12:00:00.${n}`, source: 'agent', kind, ...fields } as unknown as Event;
};
const call = (tool_name: string, action: Record<string, unknown>) => event('ActionEvent', { tool_name, tool_call_id: `c${clock}`, action });
const result = (of: Event, observation: Record<string, unknown>) => event('ObservationEvent', { tool_name: 'x', action_id: of.id, observation: { kind: 'X', ...observation } });
const image = (url: string) => ({ content: [{ type: 'image', image_urls: [url] }] });

describe('screenshots', () => {
  it('are those of browsers, with the address that was opened last', () => {
    const open = call('browser_navigate', { kind: 'BrowserNavigateAction', url: 'http://localhost:1/' });
    const look = call('browser_get_state', { kind: 'BrowserGetStateAction' });
    const mcp = call('browser_take_screenshot', { kind: 'MCPToolAction', data: {} });
    const chart = call('make_chart', { kind: 'MCPToolAction', data: {} });
    const remote = call('browser_snapshot', { kind: 'MCPToolAction', data: { url: 'http://localhost:2/' } });
    const t = append(empty, [
      ...[open, result(open, { screenshot_data: '' })],
      ...[look, result(look, { screenshot_data: 'AAAA' })],
      ...[mcp, result(mcp, image('data:image/png;base64,BBBB'))],
      ...[chart, result(chart, image('data:image/png;base64,CCCC'))],
      ...[remote, result(remote, image('https://tracker.example/x.png'))],
    ]);
    expect(screenshots(t.items).map(({ id, address, picture }) => ({ id, address, picture }))).toEqual([
      { id: look.id, address: 'http://localhost:1/', picture: 'data:image/png;base64,AAAA' },
      { id: mcp.id, address: 'http://localhost:1/', picture: 'data:image/png;base64,BBBB' },
    ]);
  });
});
