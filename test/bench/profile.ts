/** CPU profiles of the measured processes, added up by function. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SandboxState } from '../support/service.ts'

const SHOWN = 25
const RECORDER = new URL('record-profile.mjs', import.meta.url)

/** The part of a V8 CPU profile that is read here. */
type Profile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  /** µs between two samples. */
  readonly timeDeltas: readonly number[]
}

/** Settings under which each process of Node writes its profile into a directory when it ends. */
export function profiling(directory: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${RECORDER}`, BENCH_PROFILES: directory }
}

/**
 * The functions with the most time of their own in each process, start and end included.
 *
 * @param directory with the profiles, named `<pid>.cpuprofile`
 */
export async function profileTable(directory: string, processes: SandboxState['processes']): Promise<string> {
  const nameOf = new Map(processes.map(({ name, pid }) => [String(pid), name]))
  const totals = new Map<string, Map<string, number>>()
  for (const file of await readdir(directory)) {
    const name = nameOf.get(basename(file, '.cpuprofile'))
    if (name === undefined) continue
    const functions = totals.get(name) ?? new Map<string, number>()
    totals.set(name, functions)
    addUp(JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile, functions)
  }
  return [...totals].map(([name, functions]) => [`\n${name}`, ...rows(functions)].join('\n')).join('\n')
}

function addUp({ nodes, samples, timeDeltas }: Profile, functions: Map<string, number>): void {
  const frames = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${basename(url)}:${lineNumber + 1}`,
    ]),
  )
  for (const [n, sample] of samples.entries()) {
    const frame = frames.get(sample) ?? '(unknown)'
    if (frame.startsWith('(idle)')) continue
    functions.set(frame, (functions.get(frame) ?? 0) + (timeDeltas[n] ?? 0) / 1_000)
  }
}

function rows(functions: ReadonlyMap<string, number>): string[] {
  const total = [...functions.values()].reduce((sum, ms) => sum + ms, 0)
  return [...functions]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN)
    .map(([frame, ms]) => `${ms.toFixed(0).padStart(8)} ms ${((100 * ms) / total).toFixed(1).padStart(5)} %  ${frame}`)
}
