/**
 * What more processes cost: CPU of a transfer by kind of process with 1, 2 and 4 APIs, signers and submitters, and what
 * the connections of PostgreSQL wait for.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PROCESSES, type ProcessDeclaration } from '../../src/core/processes.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { type Child, startChild, stopChild } from '../../src/sandbox/processes.ts'
import { untilQuiet } from './accept.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { type Waits, waitsDuring } from './database-waits.ts'
import { runLoad } from './load.ts'
import type { NamedProcess } from './process-trees.ts'
import type { Figure } from './report.ts'
import { authHeaders, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const COUNTS = [1, 2, 4] as const
const KINDS = ['api', 'signer', 'submitter'] as const
const WALLETS = 20
const TRANSFERS = 3_000
const WARM_UP = 400
const CONNECTIONS = 64
const STOP_GRACE_MS = 20_000
const LOOK_MS = 100
const SHOWN_WAITS = 6
const BODY = JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH' })

/** Processes beside those of the sandbox. */
type Added = {
  readonly processes: readonly NamedProcess[]
  readonly urls: readonly string[]
  readonly children: Child[]
}

export async function benchScale(subject: Subject): Promise<Figure[]> {
  const wallets = await fundedWallets(subject, WALLETS)
  const figures: Figure[] = []
  let first: ReadonlyMap<string, number> = new Map()
  for (const count of COUNTS) {
    process.stderr.write(`  ${count} of each\n`)
    const added = await startMore(subject, count - 1)
    await transfer(subject, added, wallets, WARM_UP)
    const before = readCpuTimes(subject.service, added.processes)
    const startedAt = performance.now()
    const waits = await waitsDuring(subject, transfer(subject, added, wallets, TRANSFERS))
    const perSecond = (1_000 * TRANSFERS) / (performance.now() - startedAt)
    const used = cpuBetween(before, readCpuTimes(subject.service, added.processes))
    if (first.size === 0) first = used
    figures.push(...costs(count, used, first), ...waitFigures(count, waits, perSecond))
    await Promise.all(added.children.map((child) => stopChild(child, 'SIGTERM', STOP_GRACE_MS)))
  }
  return figures
}

/** Started like those of the sandbox, with their settings; an API has a port of its own. */
async function startMore(subject: Subject, count: number): Promise<Added> {
  const { base_url, processes } = subject.service.state()
  const added = { processes: [] as NamedProcess[], urls: [base_url], children: [] as Child[] }
  for (let n = 0; n < count; n += 1) {
    for (const kind of KINDS) {
      const pid = processes.find(({ name }) => name === kind)?.pid ?? 0
      const port = String(await freePort())
      const { program = kind, niceness, options }: ProcessDeclaration['sandbox'] = PROCESSES[kind].sandbox
      const child = await startChild({
        command: process.execPath,
        args: [...options, fileURLToPath(new URL(`../../dist/bin/${program}.js`, import.meta.url))],
        env: { ...environmentOf(pid), ...(kind === 'api' ? { PORT: port } : {}) },
        logFile: join(subject.service.directory, `${kind}-${n + 2}.log`),
        onParentDeath: 'TERM',
        ...(niceness === undefined ? {} : { niceness }),
      })
      added.children.push(child)
      added.processes.push({ name: kind, pid: child.pid })
      if (kind === 'api') added.urls.push(`http://127.0.0.1:${port}`)
    }
  }
  for (const url of added.urls) while (!(await fetch(`${url}/healthz`).catch(() => null))?.ok) await sleep(LOOK_MS)
  return added
}

/** Without its channel to the parent. */
function environmentOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  const all = lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string])
  return Object.fromEntries(all.filter(([name]) => name !== '' && !name.startsWith('NODE_CHANNEL')))
}

/** Requests to all APIs, until every transaction has its confirmations. */
async function transfer(subject: Subject, { urls }: Added, wallets: readonly string[], count: number): Promise<void> {
  const load = {
    method: 'POST' as const,
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
    body: BODY,
    paths: wallets.map((wallet) => `/v1/wallets/${wallet}/transfer`),
    connections: CONNECTIONS / urls.length,
    amount: count / urls.length,
  }
  await Promise.all(urls.map((url) => runLoad({ ...load, url })))
  await untilQuiet(subject)
}

function costs(count: number, used: ReadonlyMap<string, number>, first: ReadonlyMap<string, number>): Figure[] {
  return [...used]
    .sort(([, a], [, b]) => b - a)
    .map(([name, ms]) => ({
      bench: `${count} of each: ${name}`,
      unit: 'ms CPU',
      ours: ms / TRANSFERS,
      ceiling: (first.get(name) ?? 0) / TRANSFERS,
      ceilingIs: 'with 1 of each',
    }))
}

function waitFigures(count: number, waits: Waits, perSecond: number): Figure[] {
  return waits.slice(0, SHOWN_WAITS).map(([what, connections]) => ({
    bench: `${count} of each: PostgreSQL, ${what}`,
    unit: 'connections',
    ours: connections,
    ceiling: 0,
    ceilingIs: '',
    note: `at ${Math.round(perSecond)} transfers/s`,
  }))
}
