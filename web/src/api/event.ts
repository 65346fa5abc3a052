// The events of a conversation, as far as the page reads them. Their form is
// OpenHands'; unknown kinds are shown by their name.

export interface Content {
  type: 'text' | 'image';
  text?: string;
  image_urls?: string[];
}

interface Base {
  id: string;
  parent_id?: string; // the event that it follows
  timestamp: string; // without a zone; compared and sent back as text
  source: 'agent' | 'user' | 'environment' | 'hook';
}

export interface ActionData {
  kind: string;
  [field: string]: unknown;
}

export interface ObservationData {
  kind: string;
  content?: Content[];
  is_error?: boolean;
  [field: string]: unknown;
}

// A CriticResult is the verdict of a critic about an answer (docs/critic.md).
export interface CriticResult {
  score: number;
  message?: string | null;
  metadata?: { categorized_features?: Partial<Record<string, CriticFeature[] | object | null>> | null } | null;
}

export interface CriticFeature {
  name?: string;
  display_name?: string;
  probability?: number;
}

export interface ActionEvent extends Base {
  kind: 'ActionEvent';
  action?: ActionData | null; // missing: the arguments were invalid
  thought?: Content[];
  reasoning_content?: string | null;
  tool_name: string;
  tool_call_id: string;
  llm_response_id?: string; // shared by the actions of one answer
  tool_call?: { arguments?: string };
  security_risk?: string;
  summary?: string | null;
  critic_result?: CriticResult | null;
}

export interface ObservationEvent extends Base {
  kind: 'ObservationEvent';
  tool_name: string;
  action_id: string;
  observation: ObservationData;
}

export interface UserRejectObservation extends Base {
  kind: 'UserRejectObservation';
  tool_name: string;
  action_id: string;
  rejection_reason: string;
  rejection_source?: string;
}

export interface AgentErrorEvent extends Base {
  kind: 'AgentErrorEvent';
  tool_name: string;
  tool_call_id: string;
  error: string;
}

// An ACPToolCall is a call of another agent program: its beginning, or its end.
export interface ACPToolCall extends Base {
  kind: 'ACPToolCallEvent';
  tool_call_id: string;
  title: string;
  status?: string | null; // completed or failed at the end
  tool_kind?: string | null;
  raw_input?: unknown;
  raw_output?: unknown;
  content?: unknown;
  is_error: boolean;
}

export interface MessageEvent extends Base {
  kind: 'MessageEvent';
  sender?: string | null;
  llm_message: { role: string; content: Content[]; reasoning_content?: string | null };
  critic_result?: CriticResult | null;
}

export interface StateUpdate extends Base {
  kind: 'ConversationStateUpdateEvent';
  key: string;
  value: unknown;
}

export interface StreamingDelta extends Base {
  kind: 'StreamingDeltaEvent';
  content?: string | null;
  reasoning_content?: string | null;
}

export interface ConversationError extends Base {
  kind: 'ConversationErrorEvent';
  code: string;
  detail: string;
  classification?: { kind: string; retryable: boolean; user_action: string };
}

export interface ServerError extends Base {
  kind: 'ServerErrorEvent';
  code: string;
  detail: string;
}

export interface Condensation extends Base {
  kind: 'Condensation';
  forgotten_event_ids: string[];
  summary?: string | null;
}

export interface SecurityAnalysis extends Base {
  kind: 'SecurityAnalysisEvent';
  analyzer: string;
  risks: Record<string, string>;
}

export interface HookExecution extends Base {
  kind: 'HookExecutionEvent';
  hook_event_type: string;
  hook_command: string;
  success: boolean;
  blocked: boolean;
  tool_name?: string | null;
  reason?: string | null;
  additional_context?: string | null;
  error?: string | null; // why it did not come to its own end
  stdout?: string;
  stderr?: string;
}

export interface Plain extends Base {
  kind: 'PauseEvent' | 'InterruptEvent' | 'CondensationRequest' | 'SystemPromptEvent' | 'TokenEvent' | 'CondensationSummaryEvent';
}

export type Event =
  | ActionEvent
  | ObservationEvent
  | UserRejectObservation
  | AgentErrorEvent
  | ACPToolCall
  | MessageEvent
  | StateUpdate
  | StreamingDelta
  | ConversationError
  | ServerError
  | Condensation
  | SecurityAnalysis
  | HookExecution
  | Plain;

// isEvent accepts events of the contract, and nothing else.
export function isEvent(value: unknown): value is Event {
  const e = value as Partial<Base> & { kind?: unknown };
  return (
    typeof e === 'object' && e !== null && typeof e.id === 'string' && e.id !== '' && typeof e.timestamp === 'string' && typeof e.kind === 'string'
  );
}

// passing are the keys of state updates that are no part of the log.
const passing = ['full_state', 'sandbox', 'queue'];

// stored reports whether the event is in the conversation's log. Others are sent
// once and must not move the cursor.
export function stored(e: Event): boolean {
  return e.kind !== 'StreamingDeltaEvent' && e.kind !== 'ServerErrorEvent' && !(e.kind === 'ConversationStateUpdateEvent' && passing.includes(e.key));
}

// plain returns a field of an action as text; JSON for any other value.
export function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

export function textOf(content: Content[] | undefined): string {
  return (content ?? [])
    .filter((c) => c.type === 'text')
    .map((c) => c.text ?? '')
    .join('\n');
}

export function imagesOf(content: Content[] | undefined): string[] {
  return (content ?? []).flatMap((c) => c.image_urls ?? []);
}
