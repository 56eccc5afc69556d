/** A list of listeners. An error in one of them does not end the process or affect the others. */
import type { ChannelLog } from './log.ts'

export function createListeners<Args extends unknown[]>(log: ChannelLog) {
  const listeners: ((...args: Args) => void)[] = []
  return {
    add: (listener: (...args: Args) => void) => void listeners.push(listener),
    tell(...args: Args): void {
      for (const listener of listeners) {
        try {
          listener(...args)
        } catch (error) {
          log.error({ err: error }, 'a listener of the channel failed')
        }
      }
    },
  }
}
