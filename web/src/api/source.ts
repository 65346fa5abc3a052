// Source is the server as the pages see it. Two servers implement it: the App
// Server (`deft serve`) and a single agent server.
import type { Conversation } from './conversation';
import type { StartTask } from './startTask';

export interface ConversationSummary {
  id: string;
  title: string;
  status: Status;
  createdAt: string; // ISO 8601 with a zone, as the next
  updatedAt: string;
  costUSD: number | null;
  model: string | null;
  location: string; // repository, or directory
  shared: boolean; // everybody with its link can read it
  tags: Record<string, string>;
  sandbox: Sandbox;
  sessionKey: string | null; // of the sandbox that runs
  planner: boolean; // its agent plans, and changes nothing else
  parent: string | null; // the conversation that it is a part of
  parts: string[]; // conversations that work on parts of it
}

// Sandbox is how the sandbox of a conversation is. Archived: it was deleted, and its files
// were kept. None: the conversation was made by another program, as by `deft run`.
export type Sandbox = 'running' | 'starting' | 'paused' | 'archived' | 'lost' | 'none';

export type Status =
  | 'starting'
  | 'idle'
  | 'running'
  | 'paused'
  | 'waiting_for_confirmation'
  | 'finished'
  | 'error'
  | 'stuck'
  | 'asleep' // its sandbox is paused
  | 'stored' // it can only be read
  | 'lost' // its files have vanished
  | 'archived'; // its sandbox was deleted

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface NewTask {
  text: string;
  images: string[]; // data URLs
  repository?: string;
  branch?: string;
  provider?: string; // the Git host of the repository
  sandbox?: string; // one that there is, with its files; a new one if this is empty
  directory?: string;
  confirm: boolean; // ask before risky actions
  plan?: boolean; // an agent that studies and plans, and changes nothing else
  parent?: string; // the conversation that it is a part of, whose files it shares
}

// UsedSandbox is a sandbox that has conversations.
export interface UsedSandbox {
  id: string;
  titles: string[];
}

// Started is a conversation, or the task that starts it.
export interface Started {
  kind: 'conversation' | 'task';
  id: string;
}

export interface Profile {
  name: string;
  model: string;
  baseURL: string;
  keySet: boolean;
  active: boolean;
}

export interface ModelChoice {
  model: string;
  baseURL: string; // empty: the provider's
  apiKey: string; // empty: unchanged
}

export interface SecretName {
  name: string;
  description: string;
}

export interface Source {
  readonly kind: 'app-server' | 'agent-server';

  conversations(search: string, page: string | null, status?: string): Promise<Page<ConversationSummary>>;
  conversation(id: string): Promise<ConversationSummary | null>;
  start(task: NewTask): Promise<Started>;
  rename(id: string, title: string): Promise<void>;
  setTags(id: string, tags: Record<string, string>): Promise<void>;
  remove(id: string): Promise<void>;
  resume(id: string): Promise<void>; // has the sandbox of a conversation run, made anew if it was deleted
  connect(summary: ConversationSummary): Conversation;

  model(): Promise<{ model: string; baseURL: string; keySet: boolean }>; // without a model or a key none is set up
  setModel(choice: ModelChoice): Promise<void>;
  models(): Promise<string[]>;

  profiles(): Promise<Profile[]>;
  saveProfile(name: string, choice: ModelChoice): Promise<void>;
  activateProfile(name: string): Promise<void>;
  deleteProfile(name: string): Promise<void>;

  secrets(): Promise<SecretName[]>;
  saveSecret(name: string, value: string, description: string): Promise<void>;
  deleteSecret(name: string): Promise<void>;

  // What only the App Server has; null at a single agent server.
  readonly app: AppRoutes | null;
}

// Apps are what programs in a sandbox listen on.
export interface Apps {
  items: { port: number; address: string; url: string | null }[]; // url: where browsers reach it
  detail: string; // why they are not known, or empty
}

// Editor is VS Code of a sandbox.
export interface Editor {
  name: string; // of its program; empty: the sandbox has none
  url: string | null; // where browsers reach it; null: it does not run
}

export interface Repository {
  name: string; // owner/name
  branch: string; // the default one; empty: unknown
  isPublic: boolean;
}

// Origin is the repository that a conversation was started with.
export interface Origin {
  repository: string; // owner/name, or its address; empty: none
  branch: string; // empty: the default one
  title: string; // of the conversation
  pullRequests: { number: number; url: string }[]; // of this work; no url: unknown
}

export interface PullRequest {
  number: number;
  url: string;
  warning: string;
}

export interface Undone {
  written: string[];
  removed: string[];
  checkout: string; // what Git has checked out again; "" if that stays
  checkoutKept: string; // why it stays, if it was another one
}

export interface Trial {
  works: boolean;
  message: string;
}

// A ServerTrial is how the connection to an MCP server went.
export interface ServerTrial extends Trial {
  tools: string[]; // their names
}

// A ListedSkill is a skill of the server or of its user.
export interface ListedSkill {
  name: string;
  public: boolean; // one of OpenHands' collection
  triggers: string[]; // none: it is always active, or read when wanted
}

export interface Skills {
  all: ListedSkill[];
  off: string[]; // names of those that agents do not get
}

export interface ApiKey {
  id: number;
  name: string;
  created: string;
  lastUsed: string | null;
}

export interface Safety {
  confirm: boolean;
  analyze: boolean; // the model judges how risky its actions are
}

// A SuggestedTask is an issue or pull request that wants something done.
export interface SuggestedTask {
  provider: string;
  type: string; // the contract's
  repository: string;
  number: number;
  title: string;
}

// A LocalModel is served by a program on the server's machine.
export interface LocalModel {
  program: string;
  model: string;
  baseURL: string;
}

// FilesKept are the files that a fork or a rewind at an event can take: those of the event
// itself, or of the nearest one before it; null where none were kept. Without a time they are
// as they are now.
export interface FilesKept {
  event: string | null;
  time: string | null;
  when: 'off' | 'turn' | 'step'; // they are kept
  slow: boolean; // keeping those of each step takes too long in this workspace
}

export interface AppRoutes {
  startTask(id: string): Promise<StartTask | null>;
  startTasks(): Promise<StartTask[]>; // that are at work or have failed, some
  startAgain(failed: StartTask): Promise<string>;
  forgetStart(failed: StartTask): Promise<void>;
  setupLog(conversation: string): Promise<string>;
  demo(): Promise<string>;
  takeRecorded(file: File, how: 'import' | 'replay'): Promise<string>; // a trajectory, or the zip file of a download
  fork(id: string, event: string | null, sameFiles: boolean): Promise<string>;
  filesKept(id: string, event: string): Promise<FilesKept>;
  undo(id: string, event: string | null, keepFiles: boolean, preview: boolean): Promise<Undone>;
  share(id: string, shared: boolean): Promise<void>;
  export(id: string): Promise<Blob>;
  usedSandboxes(): Promise<UsedSandbox[]>; // those of the newest conversations
  pauseSandbox(id: string): Promise<void>;
  archive(id: string): Promise<void>; // deletes the sandbox
  apps(id: string): Promise<Apps>;
  editor(id: string): Promise<Editor>;
  openEditor(id: string): Promise<string>; // where it is, once it runs
  origin(id: string): Promise<Origin>;
  push(id: string, branch: string): Promise<void>;
  openPullRequest(id: string, request: { source: string; target: string; title: string; description: string; draft: boolean }): Promise<PullRequest>;

  sandboxSpec(): Promise<string>; // what new conversations work in: a class or an image
  localModels(): Promise<LocalModel[]>; // none where the server does not look
  testModel(profile: string | null): Promise<Trial>;
  keys(): Promise<ApiKey[]>;
  createKey(name: string): Promise<string>; // returns the key, which is shown once
  deleteKey(id: number): Promise<void>;
  gitHosts(): Promise<Record<string, string | null>>; // hosts of providers that have a token
  setGitToken(provider: string, token: string, host: string): Promise<void>;
  removeGitTokens(): Promise<void>;
  suggestedTasks(): Promise<SuggestedTask[]>;
  repositories(provider: string, text: string): Promise<Repository[]>; // those that match, some
  branches(provider: string, repository: string, text: string): Promise<string[]>;
  safety(): Promise<Safety>;
  setSafety(safety: Safety): Promise<void>;
  committer(): Promise<Committer>;
  setCommitter(committer: Committer): Promise<void>;
  isolation(id: string | null): Promise<Isolation>; // of a conversation; null: of new ones
  hooks(id: string): Promise<HookConfig | null>; // of the project's file
  takeOver(files: { name: string; content: string }[], apply: boolean): Promise<TakenOver>;
  servers(): Promise<Record<string, McpServer>>;
  setServers(servers: Record<string, McpServer>): Promise<void>;
  testServer(name: string): Promise<ServerTrial>;
  skills(): Promise<Skills>;
  setSkillsOff(names: string[]): Promise<void>;
}

// Committer is who commits are by; empty: as Git has it.
export interface Committer {
  name: string;
  email: string;
}

// Isolation is what is in force around commands; without a report, detail says why it is
// not known.
// HookConfig are hooks by what they wait for.
export type HookConfig = Record<string, { hooks?: { type: string; command?: string | null; prompt?: string | null }[] | null }[] | null>;

export interface Isolation {
  report: {
    level: string;
    features: string[];
    missing?: { feature: string; reason: string }[];
    bounds?: { resource: string; value: string }[];
  } | null;
  detail: string;
}

// TakenOver is what files of OpenHands lead to.
export interface TakenOver {
  taken: { file: string; key: string; to: string; value: string; secret: boolean }[];
  left: { file: string; key: string; why: string }[];
}

// An McpServer is an entry of mcp_config. Secrets come masked, and are sent back so.
export interface McpServer {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
  enabled?: boolean;
  [field: string]: unknown;
}
