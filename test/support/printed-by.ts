import type { Test } from 'tap'

/** Runs what writes on the terminal, and returns what it printed there. */
export async function printedBy(t: Test, run: () => Promise<void>): Promise<string> {
  const write = t.capture(process.stdout, 'write', () => true)
  await run()
  const written = write()
  write.restore()
  return written.map(({ args }) => String(args[0])).join('')
}
