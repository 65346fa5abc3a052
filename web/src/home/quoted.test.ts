import { describe, expect, it } from 'vitest';
import { userParts } from '../conversation/userParts';
import { quotedFile, refusal } from './quoted';

describe('refusal', () => {
  it.each([
    ['a text', new File(['äöü\n'], 'a.txt'), ''],
    ['nothing', new File([], 'a.txt'), ''],
    ['the largest', new File(['x'.repeat(65536)], 'a.txt'), ''],
    ['too large', new File(['x'.repeat(65537)], 'a.txt'), 'a.txt is larger than 64 KB'],
    ['no UTF-8', new File([new Uint8Array([0xff, 0xfe, 0x41])], 'a.bin'), 'a.bin is not a text'],
    ['zeros', new File([new Uint8Array([0x41, 0, 0x41])], 'a.bin'), 'a.bin is not a text'],
  ])('%s', async (_, file, says) => {
    const reason = await refusal(file);
    if (says) expect(reason).toContain(says);
    else expect(reason).toBe('');
  });

  it('says that a file cannot be read', async () => {
    const file = new File(['x'], 'gone.txt');
    file.arrayBuffer = () => Promise.reject(new DOMException('gone', 'NotFoundError'));
    expect(await refusal(file)).toBe('gone.txt cannot be read.');
  });
});

describe('quotedFile', () => {
  it.each(['x', '```sh\nls\n```', '`````', '~~~\nx', 'ends with a line\n', ''])('is shown as it was: %j', async (text) => {
    const parts = userParts(`Read it\n\n${await quotedFile(new File([text], 'a.md'))}`);
    expect(parts).toEqual([
      { code: false, text: 'Read it\n\na.md:', language: '' },
      { code: true, text: text.replace(/\n$/, ''), language: 'md' },
    ]);
  });
});
