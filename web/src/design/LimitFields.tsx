import type { Limits } from '../api/limits';
import { tr } from '../i18n/text';

interface Props {
  limits: Limits;
  onLimits: (limits: Limits) => void;
}

// LimitFields are the fields of limits.
export function LimitFields({ limits, onLimits }: Props) {
  return (
    <>
      <label className="field">
        <span>{tr('Budget in US dollars')}</span>
        <input
          className="input number"
          type="number"
          min={0}
          step="any"
          placeholder={tr('no limit')}
          value={limits.budgetUSD || ''}
          onChange={(e) => onLimits({ ...limits, budgetUSD: Math.max(0, e.target.valueAsNumber || 0) })}
        />
      </label>
      <label className="field">
        <span>{tr('Steps of one run')}</span>
        <input className="input number" type="number" required min={1} step={1} value={limits.steps || ''} onChange={(e) => onLimits({ ...limits, steps: Math.max(0, Math.floor(e.target.valueAsNumber || 0)) })} />
      </label>
    </>
  );
}
