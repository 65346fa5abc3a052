import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usualLimitsQuery, type Limits } from '../api/limits';
import { money } from '../design/format';
import { LimitFields } from '../design/LimitFields';
import { plural, tr } from '../i18n/text';

interface Props {
  limits: Limits | null; // null: the usual ones
  onLimits: (limits: Limits) => void;
  network: string; // empty: the usual one
  onNetwork: (network: string) => void;
}

// LimitChoice shows the limits and the network of the next task, and changes them for it.
export function LimitChoice({ limits, onLimits, network, onNetwork }: Props) {
  const usual = useQuery(usualLimitsQuery);
  const [open, setOpen] = useState(false);
  if (!usual.data) return null;
  const { networks } = usual.data;
  const now = limits ?? usual.data;
  const reached = network || (networks[0] ?? '');
  const words = [
    now.budgetUSD > 0 ? tr('at most {cost}', { cost: money(now.budgetUSD) }) : tr('no budget'),
    plural(now.steps, '1 step', '{n} steps'),
    reached && networkText(reached),
  ];
  return (
    <div className="limits">
      <button type="button" className="link hint" aria-expanded={open} onClick={() => setOpen(!open)}>
        {words.filter(Boolean).join(' · ')}
      </button>
      {open && (
        <div className="limits-fields">
          <LimitFields limits={now} onLimits={onLimits} />
          {networks.length > 0 && (
            <label className="field">
              <span>{tr('Commands reach')}</span>
              <select className="input" value={reached} onChange={(e) => onNetwork(e.target.value)}>
                {networks.map((one) => (
                  <option key={one} value={one}>
                    {networkText(one)}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      )}
    </div>
  );
}

// networkText words a network: ecosystems have no dot in their names.
function networkText(network: string): string {
  if (network === 'none') return tr('no network');
  if (network === 'open') return tr('open network');
  const hosts = network.split(',');
  if (!network.includes('.')) return tr('package registries');
  return hosts.length > 2 ? plural(hosts.length, '1 host', '{n} hosts') : tr('network: {hosts}', { hosts: hosts.join(', ') });
}
