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
  TaskAction: {
    verb: tr('Delegate'), deed: 'task',
    subjects: ['description', 'prompt'],
  },
  InvokeSkillAction: {
    verb: tr('Use the skill'), deed: 'skill',
    subjects: ['name'],
  },
  SwitchLLMAction: {
    verb: tr('Switch the model'), deed: 'model',
    subjects: ['profile_name'],
  },
} as const;
