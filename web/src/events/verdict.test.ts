import { describe, expect, it } from 'vitest';
import { verdictDetail, verdictText } from './verdict';

describe('the verdict of a critic', () => {
  it('has the score and the reasons', () => {
    const r = {
      score: 0.254,
      message: 'Success: 0.25; {}',
      metadata: {
        categorized_features: { sentiment: null, agent_behavioral_issues: [{ name: 'loop_behavior', display_name: 'Loop Behavior', probability: 0.8 }], other: [] },
      },
    };
    expect(verdictText(r)).toBe('Critic: 25 % likely to be a success');
    expect(verdictDetail(r)).toBe('Likely faults of the agent: Loop Behavior (80 %)');
  });

  it('has the message of a critic without features', () => {
    expect(verdictDetail({ score: 1, message: 'All pass.' })).toBe('All pass.');
    expect(verdictDetail({ score: 1 })).toBe('');
  });
});
