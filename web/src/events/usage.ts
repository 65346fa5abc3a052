// The usage of a conversation, from the server's statistics.

export interface Call {
  model: string;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  seconds: number;
  costUSD: number | null; // null: its price is not known
}

export interface Usage {
  costUSD: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  contextTokens: number; // of the agent's newest call; 0: it has made none
  contextWindow: number; // 0: unknown
  budgetUSD: number | null;
  calls: Call[];
}

interface Tokens {
  prompt_tokens?: number;
  completion_tokens?: number;
  cache_read_tokens?: number;
  reasoning_tokens?: number;
  context_window?: number;
  per_turn_token?: number;
  response_id?: string;
}

interface Metrics {
  model_name?: string;
  accumulated_cost?: number;
  max_budget_per_task?: number | null;
  accumulated_token_usage?: Tokens | null;
  token_usages?: Tokens[];
  costs?: { cost: number }[];
  response_latencies?: { latency: number; response_id: string }[];
}

// readUsage reads statistics. service is the name that the calls of the agent's model are
// counted under; empty: not known.
export function readUsage(stats: unknown, service = ''): Usage {
  const metrics = Object.entries((stats as { usage_to_metrics?: Record<string, Metrics> } | null)?.usage_to_metrics ?? {});
  const usage: Usage = {
    costUSD: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    contextTokens: 0,
    contextWindow: 0,
    budgetUSD: null,
    calls: [],
  };
  for (const [name, m] of metrics) {
    const total = m.accumulated_token_usage ?? {};
    usage.costUSD += m.accumulated_cost ?? 0;
    usage.promptTokens += total.prompt_tokens ?? 0;
    usage.completionTokens += total.completion_tokens ?? 0;
    usage.cachedTokens += total.cache_read_tokens ?? 0;
    usage.reasoningTokens += total.reasoning_tokens ?? 0;
    usage.budgetUSD = m.max_budget_per_task ?? usage.budgetUSD;
    // The agent's model fills the context; models of titles and condensers do not.
    if (service ? name === service : name === 'default' || name === 'agent') {
      usage.contextTokens = total.per_turn_token ?? 0;
      usage.contextWindow = total.context_window ?? 0;
    }
    const seconds = new Map((m.response_latencies ?? []).map((l) => [l.response_id, l.latency]));
    // Calls and costs are in the same order; a call without a price has no cost.
    const costs = m.costs?.length === m.token_usages?.length ? (m.costs ?? []) : [];
    for (const [i, t] of (m.token_usages ?? []).entries()) {
      usage.calls.push({
        model: m.model_name ?? '',
        promptTokens: t.prompt_tokens ?? 0,
        completionTokens: t.completion_tokens ?? 0,
        cachedTokens: t.cache_read_tokens ?? 0,
        seconds: seconds.get(t.response_id ?? '') ?? 0,
        costUSD: costs[i]?.cost ?? null,
      });
    }
  }
  return usage;
}
