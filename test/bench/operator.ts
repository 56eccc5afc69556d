/** Runs a command like an operator, the built program in a separate process, and measures its memory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const programOf = (name: string) => fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url))
const LOOK_MS = 200

export type OperatorRun<Result> = { readonly result: Result; readonly seconds: number; readonly peakMb: number }

/** @throws Error with its output when its exit code is not 0 */
export async function runOperator<Result>(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  program: 'bursar' | 'keys' = 'bursar',
): Promise<OperatorRun<Result>> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [programOf(program), ...args, '--json'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let peakMb = 0
  const watch = setInterval(() => {
    peakMb = peakMbOf(child.pid) ?? peakMb
  }, LOOK_MS)
  try {
    const [said, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${complaint}${said}`)
    return { result: JSON.parse(said) as Result, seconds: (performance.now() - startedAt) / 1_000, peakMb }
  } finally {
    clearInterval(watch)
  }
}

/** The kernel's peak value (proc(5), VmHWM). `undefined` without /proc, or when the process has exited. */
function peakMbOf(pid: number | undefined): number | undefined {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024
  } catch {
    return undefined
  }
}
