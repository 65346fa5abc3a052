import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { statsQuery } from '../api/agent';
import type { Conversation } from '../api/conversation';
import { money, smallMoney, tenths, tokens } from '../design/format';
import { readUsage, type Call, type Usage } from '../events/usage';
import { useThrottled } from './useThrottled';
import { number, tr } from '../i18n/text';

// mostCalls is how many calls are shown at first, the newest ones.
const mostCalls = 100;

const measures = ['tokens', 'cost', 'time'] as const;
type Measure = (typeof measures)[number];
const names: Record<Measure, string> = { tokens: tr('Tokens'), cost: tr('Cost'), time: tr('Time') };

interface Props {
  conversation: Conversation;
  usage: Usage; // totals as the newest event has them
  model: string;
}

// UsagePanel shows the usage of a conversation, in all and by call of the model. Events
// have the calls that are new; the server has the list of all.
export function UsagePanel({ conversation, usage, model }: Props) {
  const spent = useThrottled(usage.promptTokens + usage.completionTokens, 1000);
  const all = useQuery({ ...statsQuery(conversation, spent), select: readUsage });
  const calls = all.data?.calls ?? usage.calls;
  const cost = costText(usage.costUSD, calls);
  const facts: [string, string][] = [
    [tr('Model'), model || '–'],
    [tr('Cost'), usage.budgetUSD === null ? cost : tr('{part} of {whole}', { part: cost, whole: money(usage.budgetUSD) })],
    [tr('Input tokens'), tokens(usage.promptTokens)],
    [tr('of these from the cache'), tokens(usage.cachedTokens)],
    [tr('Output tokens'), tokens(usage.completionTokens)],
    [tr('of these reasoning'), tokens(usage.reasoningTokens)],
    [tr('Context'), usage.contextWindow ? tr('{part} of {whole}', { part: tokens(usage.contextTokens), whole: tokens(usage.contextWindow) }) : tokens(usage.contextTokens)],
  ];
  return (
    <div className="panel-body usage">
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
      {calls.length === 0 ? <p className="hint">{tr('No model was called yet.')}</p> : <Calls calls={calls} />}
    </div>
  );
}

function Calls({ calls }: { calls: Call[] }) {
  const [measure, setMeasure] = useState<Measure>('tokens');
  const [whole, setWhole] = useState(false);
  const first = whole ? 0 : Math.max(0, calls.length - mostCalls);
  const largest = Math.max(...calls.map((c) => size(c, measure)), Number.MIN_VALUE);
  return (
    <>
      <h2>{tr('Calls of the model')}</h2>
      <fieldset>
        <legend>{tr('Chart of')}</legend>
        {measures.map((m) => (
          <label key={m} className="row">
            <input type="radio" name="measure" checked={measure === m} onChange={() => setMeasure(m)} /> {names[m]}
          </label>
        ))}
      </fieldset>
      {measure === 'tokens' && (
        <p className="legend" aria-hidden="true">
          {(
            [
              ['bar-cached', tr('cached input')],
              ['bar-prompt', tr('other input')],
              ['bar-completion', tr('output')],
            ] as const
          ).map(([name, says]) => (
            <span key={name}>
              <svg width="8" height="8">
                <rect width="8" height="8" className={name} />
              </svg>
              {says}
            </span>
          ))}
        </p>
      )}
      {first > 0 && (
        <p className="hint">
          {tr('The newest {shown} of {all} calls.', { shown: mostCalls, all: number(calls.length) })}{' '}
          <button className="link" onClick={() => setWhole(true)}>
            {tr('Show all')}
          </button>
        </p>
      )}
      <table className="calls number">
        <thead>
          <tr>
            <th scope="col">#</th>
            <th scope="col">
              <span className="visually-hidden">{tr('{measure} as a bar', { measure: names[measure] })}</span>
            </th>
            <th scope="col">{tr('Input')}</th>
            <th scope="col">{tr('Cached')}</th>
            <th scope="col">{tr('Output')}</th>
            <th scope="col">{tr('Cost')}</th>
            <th scope="col">{tr('Time')}</th>
          </tr>
        </thead>
        <tbody>
          {calls.slice(first).map((c, i) => (
            <tr key={first + i} title={c.model}>
              <td>{first + i + 1}</td>
              <td>
                <Bar call={c} measure={measure} largest={largest} />
              </td>
              <td>{tokens(c.promptTokens)}</td>
              <td>{tokens(c.cachedTokens)}</td>
              <td>{tokens(c.completionTokens)}</td>
              <td>{c.costUSD === null ? '–' : cents(c.costUSD)}</td>
              <td>{tenths(c.seconds)} s</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function size(c: Call, measure: Measure): number {
  if (measure === 'cost') return c.costUSD ?? 0;
  return measure === 'time' ? c.seconds : c.promptTokens + c.completionTokens;
}

// costText is the cost of all calls, as far as their prices are known.
function costText(usd: number, calls: Call[]): string {
  if (calls.every((c) => c.costUSD !== null)) return money(usd);
  return usd > 0 ? tr('at least {amount}', { amount: money(usd) }) : tr('not known');
}

// cents shows the cost of one call, which is often below a cent.
function cents(usd: number): string {
  return usd === 0 || usd >= 0.01 ? money(usd) : smallMoney(usd);
}

function Bar({ call, measure, largest }: { call: Call; measure: Measure; largest: number }) {
  const percent = (n: number) => `${Math.min(100, (100 * n) / largest)}%`;
  const parts: [string, number][] =
    measure === 'tokens'
      ? [
          ['bar-cached', call.cachedTokens],
          ['bar-prompt', Math.max(0, call.promptTokens - call.cachedTokens)],
          ['bar-completion', call.completionTokens],
        ]
      : [['bar-completion', size(call, measure)]];
  let at = 0;
  return (
    <svg className="bar-chart" width="100%" height="8" aria-hidden="true">
      {parts.map(([name, n]) => {
        const x = at;
        at += n;
        return <rect key={name} x={percent(x)} width={percent(n)} height="8" className={name} />;
      })}
    </svg>
  );
}
