import { money, spentText, tokens } from '../design/format';
import type { Usage } from '../events/usage';
import { tr } from '../i18n/text';

// Meter shows the cost of the conversation, and the use of the model's context.
export function Meter({ usage }: { usage: Usage }) {
  const full = usage.contextWindow > 0 ? Math.min(1, usage.contextTokens / usage.contextWindow) : 0;
  const known = usage.contextWindow > 0;
  const context = known
    ? tr('Context: {n} of {window} tokens', { n: tokens(usage.contextTokens), window: tokens(usage.contextWindow) })
    : tr('Context: {n} tokens', { n: tokens(usage.contextTokens) });
  const spent = spentText(usage.costUSD);
  const title = spent || usage.contextTokens === 0 ? context : `${context}. ${tr('The cost is not known.')}`;
  return (
    <span className="meter number" title={title}>
      {(spent || usage.budgetUSD !== null) && (
        <span>
          {spent || '–'}
          {usage.budgetUSD !== null && ` ${tr('of {budget}', { budget: money(usage.budgetUSD) })}`}
        </span>
      )}
      {known ? (
        <meter min={0} max={1} low={0.7} high={0.9} optimum={0} value={full} aria-label={context} />
      ) : (
        usage.contextTokens > 0 && <span>{tr('{n} tokens', { n: tokens(usage.contextTokens) })}</span>
      )}
    </span>
  );
}
