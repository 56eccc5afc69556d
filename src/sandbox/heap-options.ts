/** How much memory V8 may use in each process before it collects garbage. */

/**
 * Options of Node for a process.
 *
 * Little room for new objects saves memory, for more collections. The API has more: at 4 MB they take up to a third of
 * the CPU of an accepted transfer, and at 8 MB a seventh more than at 16.
 *
 * A worker needs less than 50 MB for old objects. With a limit far below the usual one, V8 collects them when they have
 * grown by half, and not only when they have grown to four times.
 *
 * @param name of the process in the state file
 */
export function heapOptions(name: string): readonly string[] {
  return name === 'api' ? ['--max-semi-space-size=16'] : ['--max-semi-space-size=8', '--max-old-space-size=512']
}
