import { money, tokens } from '../design/format';
import type { Usage } from '../events/usage';

// Meter shows what the conversation costs, and how full the model's context is.
export function Meter({ usage }: { usage: Usage }) {
  const full = usage.contextWindow > 0 ? Math.min(1, usage.contextTokens / usage.contextWindow) : 0;
  const known = usage.contextWindow > 0;
  const title = known
    ? `Context: ${tokens(usage.contextTokens)} of ${tokens(usage.contextWindow)} tokens`
    : `Context: ${tokens(usage.contextTokens)} tokens`;
  return (
    <span className="meter number" title={title}>
      <span>
        {money(usage.costUSD)}
        {usage.budgetUSD !== null && ` of ${money(usage.budgetUSD)}`}
      </span>
      {known ? (
        <meter min={0} max={1} low={0.7} high={0.9} optimum={0} value={full} aria-label={title} />
      ) : (
        usage.contextTokens > 0 && <span>{tokens(usage.contextTokens)} tokens</span>
      )}
    </span>
  );
}
