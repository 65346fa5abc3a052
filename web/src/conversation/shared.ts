import { createContext } from 'react';

// SharedContext is true on the page of a shared conversation, whose reader may not be signed in.
export const SharedContext = createContext(false);
