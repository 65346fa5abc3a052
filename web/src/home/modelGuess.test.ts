import { describe, expect, it } from 'vitest';
import { guess } from './modelGuess';

const models = ['openai/o9', 'openai/gpt-5.6', 'anthropic/claude-opus-5', 'anthropic/claude-sonnet-5', 'gemini/gemini-4-pro'];

describe('guess', () => {
  it.each([
    ['sk-ant-abc', 'anthropic/claude-sonnet-5'],
    ['sk-proj-abc', 'openai/gpt-5.6'],
    [' AIzaabc ', 'gemini/gemini-4-pro'],
    ['gsk_abc', ''],
    ['unclear', ''],
    ['', ''],
  ])('%s is %s', (key, model) => {
    expect(guess(key, models)).toEqual({ model, baseURL: '', apiKey: key.trim() });
  });

  it.each([
    ['http://localhost:11434', 'http://localhost:11434/v1'],
    ['http://localhost:1234/v1/', 'http://localhost:1234/v1'],
  ])('%s is a server of one’s own', (address, baseURL) => {
    expect(guess(address, models)).toEqual({ model: '', baseURL, apiKey: 'local' });
  });
});
