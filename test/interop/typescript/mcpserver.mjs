// A small MCP server over standard input and output with one tool, which adds.
import { createInterface } from 'node:readline';

const tool = {
  name: 'add', description: 'Adds two numbers.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
};

const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'adder', version: '1.0.0' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ name, arguments: { a, b } }) =>
    (name === 'add' ? { content: [{ type: 'text', text: String(a + b) }] } : { isError: true, content: [{ type: 'text', text: `no tool ${name}` }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return; // a notification
  const answer = answers[method]
    ? { result: answers[method](params ?? {}) }
    : { error: { code: -32601, message: `unknown method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
