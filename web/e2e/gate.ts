// A gate before the scripted model: a test says how much of an answer has come.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Gate {
  url: string;
  pass: (pieces: number) => void; // lets through so many of the held pieces, of all
  open: () => void; // lets everything through from now on
  close: () => void;
}

// startGate is in front of a model, and holds back streamed answers that have a word.
export async function startGate(model: string, held: string): Promise<Gate> {
  let changed = () => {};
  let passing = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void (async () => {
        const answer = await fetch(new URL(request.url ?? '', model), { method: request.method, headers: { 'Content-Type': 'application/json', Authorization: String(request.headers.authorization) }, body: Buffer.concat(chunks) });
        const body = await answer.text();
        response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') ?? 'text/plain' });
        const isHeld = body.includes(held) && body.startsWith('data:');
        for (const [i, piece] of body.split(/(?<=\n\n)/).entries()) {
          while (isHeld && i >= passing) await new Promise<void>((done) => (changed = done));
          response.write(piece);
        }
        response.end();
      })();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const pass = (pieces: number) => {
    passing = pieces;
    changed();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    pass,
    open: () => pass(Infinity),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
