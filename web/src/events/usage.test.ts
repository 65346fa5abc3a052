import { expect, test } from 'vitest';
import { readUsage } from './usage';

test('a call has its cost only where every call has a price', () => {
  const calls = [
    { prompt_tokens: 10, completion_tokens: 1, response_id: 'a' },
    { prompt_tokens: 20, completion_tokens: 2, response_id: 'b' },
  ];
  const stats = (costs: { cost: number }[]) => ({
    usage_to_metrics: { default: { accumulated_cost: 0.5, token_usages: calls, costs, response_latencies: [{ response_id: 'b', latency: 2 }] } },
  });
  expect(readUsage(stats([{ cost: 0.2 }, { cost: 0.3 }])).calls.map((c) => [c.costUSD, c.seconds])).toEqual([
    [0.2, 0],
    [0.3, 2],
  ]);
  expect(readUsage(stats([{ cost: 0.3 }])).calls.map((c) => c.costUSD)).toEqual([null, null]);
  expect(readUsage(null).calls).toEqual([]);
});
