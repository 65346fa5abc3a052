import { describe } from '../api/failure';

// Failed says why something failed, if it did.
export function Failed({ error }: { error: Error | null }) {
  if (!error) return null;
  return (
    <p className="banner bad" role="alert">
      {describe(error)}
    </p>
  );
}
