import { useId, type ComponentProps } from 'react';
import { tr } from '../i18n/text';
import { addressOf, wrongScheme } from './address';

interface Props extends Pick<ComponentProps<'input'>, 'placeholder' | 'required' | 'inputMode'> {
  value: string; // as it was written; `means` has the address
  onChange: (value: string) => void;
  label?: string;
  means?: (value: string) => string; // the address that a text means; empty: none
  refuses?: (value: string) => string; // why a text is refused; empty: it is not
}

// AddressField takes an address, with its scheme or without; by default the address of a model.
export function AddressField({ value, onChange, label = tr('Address'), placeholder = tr('the provider’s'), inputMode = 'url', means = addressOf, refuses = noAddress, required }: Props) {
  const meant = means(value);
  const wrong = value.trim() === '' || meant ? '' : refuses(value);
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        ref={(input) => input?.setCustomValidity(wrong)}
        id={id}
        className="input mono"
        inputMode={inputMode}
        required={required}
        spellCheck={false}
        aria-invalid={wrong !== '' || undefined}
        aria-describedby={`${id}-meant`}
        placeholder={placeholder}
        value={value}
        onChange={(e) => onChange(e.target.value)}
      />
      <p id={`${id}-meant`} className="hint" aria-live="polite">
        {wrong || (meant && meant !== value.trim() && tr('That is the address {address}.', { address: meant }))}
      </p>
    </div>
  );
}

// noAddress says why a text is no address.
const noAddress = (value: string): string => wrongScheme(value) || tr('This is no address. One is, for example, http://localhost:11434/v1.');
