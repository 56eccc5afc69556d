import type { Test } from 'tap'

/** Runs code that writes to the terminal, and returns its output. */
export async function printedBy(t: Test, run: () => Promise<void>): Promise<string> {
  const write = t.capture(process.stdout, 'write', () => true)
  await run()
  const written = write()
  write.restore()
  return written.map(({ args }) => String(args[0])).join('')
}
