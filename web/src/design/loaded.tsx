import { useEffect, useState, type ComponentType } from 'react';

// Loaded is a component whose script is loaded when it is first shown, or before that by
// `preload`, which fails if the script cannot be loaded.
export type Loaded<P> = ComponentType<P> & { preload: () => Promise<void> };

// pauses are those before further tries, in ms: a connection that was lost for a moment must
// not cost the page.
const pauses = [300, 1000, 3000];

async function persistent<T>(load: () => Promise<T>): Promise<T> {
  for (const pause of pauses) {
    try {
      return await load();
    } catch {
      await new Promise((done) => setTimeout(done, pause));
    }
  }
  return load();
}

// loaded makes such a component; Waiting is shown until its script is there. React's own
// `lazy` draws its fallback after a click even if the script is there already, and then
// leaves it for 300 ms.
export function loaded<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, Waiting?: ComponentType): Loaded<P> {
  let script: Promise<ComponentType<P>> | null = null;
  let there: ComponentType<P> | null = null;
  const get = () =>
    (script ??= persistent(load).then(
      (module) => (there = module.default),
      (error: unknown) => {
        script = null; // the next one tries again
        throw error;
      },
    ));

  function Part(props: P) {
    const [Shown, setShown] = useState(() => there);
    const [failure, setFailure] = useState<Error | null>(null);
    useEffect(() => {
      if (Shown) return;
      let left = false;
      get().then(
        (found) => left || setShown(() => found),
        (error: unknown) => left || setFailure(error instanceof Error ? error : new Error(String(error))),
      );
      return () => {
        left = true;
      };
    }, [Shown]);
    if (failure) throw failure;
    if (Shown) return <Shown {...props} />;
    return Waiting ? <Waiting /> : null;
  }
  return Object.assign(Part, { preload: async () => void (await get()) });
}
