import { expect, type Page } from '@playwright/test';
import axeSource from 'axe-core';

// clean runs axe in the page, with the rules of WCAG 2.2 A and AA.
export async function clean(page: Page, what: string): Promise<void> {
  // A style of the policy does not matter here: the script comes by the debugger.
  await page.evaluate(axeSource.source);
  const found = await page.evaluate(async () => {
    const axe = (window as unknown as { axe: typeof axeSource }).axe;
    // Colours that fade into each other are no colours of the page.
    const fading = document.getAnimations().filter((a) => a.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(fading.map((a) => a.finished));
    const result = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] });
    return result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(' ')} (${n.failureSummary})`).join('; ')}`);
  });
  expect(found, what).toEqual([]);
}
