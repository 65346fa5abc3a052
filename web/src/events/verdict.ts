import type { CriticFeature, CriticResult } from '../api/event';
import { tr } from '../i18n/text';

// verdictText is the verdict in one line.
export const verdictText = (r: CriticResult): string => tr('Critic: {n} % likely to be a success', { n: String(percent(r.score)) });

// verdictDetail has the reasons, one a line.
export function verdictDetail(r: CriticResult): string {
  const features = r.metadata?.categorized_features;
  if (!features) return r.message ?? '';
  const groups: [string, string][] = [
    ['agent_behavioral_issues', tr('Likely faults of the agent')],
    ['user_followup_patterns', tr('Likely answers of the user')],
    ['infrastructure_issues', tr('Faults of the environment')],
    ['other', tr('Other observations')],
  ];
  return groups.flatMap(([key, label]) => line(label, features[key])).join('\n');
}

function line(label: string, features: unknown): string[] {
  if (!Array.isArray(features) || features.length === 0) return [];
  const texts = features.map((f: CriticFeature) => `${f.display_name ?? f.name ?? ''} (${percent(f.probability ?? 0)} %)`);
  return [`${label}: ${texts.join(', ')}`];
}

const percent = (share: number): number => Math.round(100 * share);
