// Text files as parts of a task: there is no sandbox yet for files.
import { describe } from '../api/failure';
import { tr } from '../i18n/text';

// largestText is how large such a file may be, in bytes.
const largestText = 64 << 10;

// refusal says why a file cannot be a part of a task; empty: it can.
export async function refusal(file: File): Promise<string> {
  if (file.size > largestText) return tr('{name} is larger than 64 KB. Attach it when the conversation has started.', { name: file.name });
  try {
    await textOf(file);
    return '';
  } catch (error) {
    return describe(error);
  }
}

// quotedFile is a text file as a part of the task.
export async function quotedFile(file: File): Promise<string> {
  const text = await textOf(file);
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  return `${file.name}:\n\n${fence}\n${text === '' || text.endsWith('\n') ? text : `${text}\n`}${fence}`;
}

async function textOf(file: File): Promise<string> {
  let bytes: ArrayBuffer;
  try {
    bytes = await file.arrayBuffer();
  } catch {
    throw new Error(tr('{name} cannot be read.', { name: file.name })); // gone, or a directory
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // as below
  }
  throw new Error(tr('{name} is not a text. Attach it when the conversation has started.', { name: file.name }));
}
