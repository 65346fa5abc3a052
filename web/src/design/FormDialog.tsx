import type { UseMutationResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from './Dialog';
import { Failed } from './Failed';
import { tr } from '../i18n/text';

interface Props {
  title: string;
  button: string;
  cancel?: string; // in place of Cancel
  danger?: boolean; // it destroys something: the focus is on Cancel
  ready?: boolean; // false: the button is off
  action: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error'>;
  onClose: () => void;
  children: ReactNode;
}

// FormDialog asks for something, and does it.
export function FormDialog({ title, button, cancel = tr('Cancel'), danger = false, ready = true, action, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(e) => {
          e.preventDefault();
          action.mutate();
        }}
      >
        {children}
        <Failed error={action.error} />
        <div className="dialog-buttons">
          <button type="button" className="button" autoFocus={danger} onClick={onClose}>
            {cancel}
          </button>
          <button className={danger ? 'button danger' : 'button primary'} disabled={!ready || action.isPending}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
