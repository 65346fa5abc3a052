import { describe, expect, it } from 'vitest';
import { serverOf, wrongScheme } from '../design/address';
import { guess } from './modelGuess';

const models = ['openai/o9', 'openai/gpt-5.6', 'anthropic/claude-opus-5', 'anthropic/claude-sonnet-5', 'gemini/gemini-4-pro'];

describe('guess', () => {
  it.each([
    ['sk-ant-abc', 'anthropic/claude-sonnet-5'],
    ['sk-proj-abc', 'openai/gpt-5.6'],
    [' AIzaabc ', 'gemini/gemini-4-pro'],
    ['gsk_abc', ''],
    ['unclear', ''],
    ['eyJhbGciOi.eyJzdWIi.SflKxwRJSM', ''],
    ['0123456789abcdef.Xy12Zk9Q', ''],
    ['ABSKQmVk/rock+Key==', ''],
    ['11111111-2222-3333:0123456789abcdef', ''],
    ['', ''],
  ])('%s is %s', (key, model) => {
    expect(guess(key, models)).toEqual({ model, baseURL: '', apiKey: key.trim() });
  });

  it.each([
    ['http://localhost:11434', 'http://localhost:11434/v1'],
    ['http://localhost:1234/v1/', 'http://localhost:1234/v1'],
    ['HTTPS://models.example.com', 'HTTPS://models.example.com/v1'],
    ['localhost:11434', 'http://localhost:11434/v1'],
    ['localhost', 'http://localhost/v1'],
    ['192.168.1.5:8080/v1', 'http://192.168.1.5:8080/v1'],
    ['10.0.0.7', 'http://10.0.0.7/v1'],
    ['10.0.0.7/v1', 'http://10.0.0.7/v1'],
    ['myhost:1234', 'http://myhost:1234/v1'],
    ['my_gpu.lan:8000', 'http://my_gpu.lan:8000/v1'],
    ['[::1]:11434', 'http://[::1]:11434/v1'],
    ['models.example.com/v1', 'https://models.example.com/v1'],
    ['models.example.com:8443', 'https://models.example.com:8443/v1'],
    ['models.example.com', 'https://models.example.com/v1'],
  ])('%s is a server of one’s own', (address, baseURL) => {
    expect(guess(address, models)).toEqual({ model: '', baseURL, apiKey: 'local' });
  });

  it.each([
    ['ftp://localhost/v1', 'ftp'],
    ['WS://localhost:1', 'ws'],
    [' unix:///run/model.sock', 'unix'],
    ['http://localhost', ''],
    ['localhost:1234', ''],
    ['sk-abc', ''],
  ])('%s has a wrong scheme: %s', (value, scheme) => {
    expect(wrongScheme(value)).toBe(scheme && `An address begins with http:// or https://, not with ${scheme}://.`);
  });

  it.each([
    ['https://example.com/mcp', 'https://example.com/mcp'],
    ['localhost:3000/mcp', 'http://localhost:3000/mcp'],
    ['ftp://localhost/mcp', ''],
    ['uvx mcp-server --port localhost:3000', ''],
    ['./server.py', ''],
    ['server.py', ''],
    ['scripts/server.sh', ''],
  ])('%s is the server %s', (value, address) => {
    expect(serverOf(value)).toBe(address);
  });
});
