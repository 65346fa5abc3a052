// Tells `go test ./test/web` of each case when it begins and when it ends: a line of JSON each.
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestError, TestResult } from '@playwright/test/reporter';

const say = (line: Record<string, unknown>) => process.stdout.write(JSON.stringify(line) + '\n');

const told = ({ message, stack, snippet }: TestError) => stripVTControlCharacters([stack ?? message, snippet].filter(Boolean).join('\n'));

// The name is the same on each machine: the file within web/e2e, the line, and the title.
const name = (test: TestCase) => `${test.titlePath()[2]}:${test.location.line} ${test.title}`;

export default class Lines implements Reporter {
  onTestBegin(test: TestCase) {
    say({ begin: name(test) });
  }

  onTestEnd(test: TestCase, result: TestResult) {
    const context = result.attachments.find(({ name }) => name === 'error-context')?.path;
    const output = [...result.stdout, ...result.stderr].join('');
    say({ end: name(test), skipped: result.status === 'skipped', failed: !test.ok(), output, errors: result.errors.map(told), context });
  }

  // onError is of no case: a file that cannot be read, a worker that has died.
  onError(error: TestError) {
    say({ error: told(error) });
  }

  printsToStdio() {
    return true;
  }
}
