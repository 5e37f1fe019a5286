// A model in place of anywidget's: values by name, and listeners for their changes.

/** @template T */
export class PageModel {
  /** @param {T} state */
  constructor(state) {
    this.state = state;
    this.listeners = /** @type {Listener[]} */ ([]);
  }

  /** @template {keyof T} K @param {K} name */
  get(name) {
    return this.state[name];
  }

  /** @param {string} event @param {ExportAnswer} [message] */
  notify(event, message = {}) {
    for (const listener of this.listeners) if (listener.event === event) listener.call(message);
  }

  /** @param {string} events @param {Listener["call"]} call */
  on(events, call) {
    for (const event of events.split(" ")) this.listeners.push({ event, call });
  }

  /** @param {string} [events] @param {Listener["call"]} [call] */
  off(events, call) {
    const names = events?.split(" ");
    this.listeners = this.listeners.filter(
      (listener) => (names && !names.includes(listener.event)) || (call && call !== listener.call),
    );
  }
}
