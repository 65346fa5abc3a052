// When the client is loaded it looks for WebSocket in window; Node has a global
// WebSocket only.
globalThis.window = globalThis;
