/** Those who want to be told of something. A defect of one of them costs what it was told, not the process. */
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
