import { useId } from 'react';
import { tr } from '../i18n/text';
import { addressOf, otherScheme } from './address';

interface Props {
  value: string; // as it was written; addressOf has the address
  onChange: (value: string) => void;
}

// AddressField takes the address of a model, with its scheme or without.
export function AddressField({ value, onChange }: Props) {
  const meant = addressOf(value);
  const wrong = value.trim() === '' || meant ? '' : reason(value);
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{tr('Address')}</label>
      <input
        ref={(input) => input?.setCustomValidity(wrong)}
        id={id}
        className="input mono"
        inputMode="url"
        spellCheck={false}
        aria-invalid={wrong !== '' || undefined}
        aria-describedby={`${id}-meant`}
        placeholder={tr('the provider’s')}
        value={value}
        onChange={(e) => onChange(e.target.value)}
      />
      <p id={`${id}-meant`} className="hint" aria-live="polite">
        {wrong || (meant && meant !== value.trim() && tr('That is the address {address}.', { address: meant }))}
      </p>
    </div>
  );
}

// reason says why a text is no address.
function reason(value: string): string {
  const other = otherScheme(value);
  return other ? tr('The address of a model begins with http:// or https://, not with {scheme}://.', { scheme: other }) : tr('This is no address. One is, for example, http://localhost:11434/v1.');
}
