// The words for calls of tools. `go test ./tool/builtin -args -update` writes this file from the
// registrations of the tools.
import { tr } from '../i18n/text';

export const shownTools = {
  TerminalAction: {
    verb: tr('Run'), deed: 'command',
    subjects: ['command'],
  },
  FileEditorAction: {
    verb: tr('Edit'), deed: 'change',
    commands: {
      create: { verb: tr('Create'), deed: 'change' },
      undo_edit: { verb: tr('Undo the edit of'), deed: 'change' },
      view: { verb: tr('Read'), deed: 'read' },
    },
    subjects: ['path'],
  },
  ApplyPatchAction: {
    verb: tr('Apply a patch'), deed: 'change',
    subjects: [],
  },
  ReadFileAction: {
    verb: tr('Read'), deed: 'read',
    subjects: ['file_path'],
  },
  WriteFileAction: {
    verb: tr('Write'), deed: 'change',
    subjects: ['file_path'],
  },
  EditAction: {
    verb: tr('Edit'), deed: 'change',
    subjects: ['file_path'],
  },
  ListDirectoryAction: {
    verb: tr('List'), deed: 'search',
    subjects: ['dir_path'],
  },
  IPythonAction: {
    verb: tr('Run Python'), deed: 'command',
    subjects: ['code'],
  },
  BrowserNavigateAction: {
    verb: tr('Open'), deed: 'look',
    subjects: ['url'],
  },
  BrowserClickAction: {
    verb: tr('Click element'), deed: 'look',
    subjects: ['index'],
  },
  BrowserGetStateAction: {
    verb: tr('Look at the web page'), deed: 'look',
    subjects: [],
  },
  BrowserGetContentAction: {
    verb: tr('Read the web page'), deed: 'look',
    subjects: [],
  },
  BrowserTypeAction: {
    verb: tr('Type'), deed: 'look',
    subjects: ['text'],
  },
  BrowserScrollAction: {
    verb: tr('Scroll'), deed: 'look',
    subjects: ['direction'],
  },
  BrowserGoBackAction: {
    verb: tr('Go back'), deed: 'look',
    subjects: [],
  },
  BrowserListTabsAction: {
    verb: tr('List the tabs'), deed: 'look',
    subjects: [],
  },
  BrowserSwitchTabAction: {
    verb: tr('Show tab'), deed: 'look',
    subjects: ['tab_id'],
  },
  BrowserCloseTabAction: {
    verb: tr('Close tab'), deed: 'look',
    subjects: ['tab_id'],
  },
  BrowserGetStorageAction: {
    verb: tr('Read cookies and storage'), deed: 'look',
    subjects: [],
  },
  BrowserSetStorageAction: {
    verb: tr('Set cookies and storage'), deed: 'look',
    subjects: [],
  },
  BrowserStartRecordingAction: {
    verb: tr('Start a recording'), deed: 'look',
    subjects: [],
  },
  BrowserStopRecordingAction: {
    verb: tr('Stop the recording'), deed: 'look',
    subjects: [],
  },
  RememberAction: {
    verb: tr('Remember'), deed: 'change',
    subjects: ['text', 'replaces'],
  },
  TaskTrackerAction: {
    verb: tr('Update the plan'), deed: 'plan',
    commands: {
      view: { verb: tr('Look at the plan'), deed: 'look' },
    },
    subjects: [],
  },
  GlobAction: {
    verb: tr('Find files'), deed: 'search',
    subjects: ['pattern'],
  },
  GrepAction: {
    verb: tr('Search'), deed: 'search',
    subjects: ['pattern'],
  },
  PlanningFileEditorAction: {
    verb: tr('Edit'), deed: 'change',
    commands: {
      create: { verb: tr('Create'), deed: 'change' },
      undo_edit: { verb: tr('Undo the edit of'), deed: 'change' },
      view: { verb: tr('Read'), deed: 'read' },
    },
    subjects: ['path'],
  },
  TaskAction: {
    verb: tr('Delegate'), deed: 'task',
    subjects: ['description', 'prompt'],
  },
  WorkflowAction: {
    verb: tr('Run a workflow'), deed: 'task',
    subjects: ['name'],
  },
  InvokeSkillAction: {
    verb: tr('Use the skill'), deed: 'skill',
    subjects: ['name'],
  },
  SwitchLLMAction: {
    verb: tr('Switch the model'), deed: 'model',
    subjects: ['profile_name'],
  },
  ClassifyAndSwitchLLMAction: {
    verb: tr('Choose the model'), deed: 'model',
    subjects: [],
  },
  AskOracleAction: {
    verb: tr('Ask for advice'), deed: 'model',
    subjects: ['question'],
  },
  StartChildConversationAction: {
    verb: tr('Start a conversation'), deed: 'task',
    subjects: ['title', 'task'],
  },
} as const;
