/** Durable acceptance rate of transfers, compared with a bare route that inserts one row durably. */
import { readFileSync } from 'node:fs'
import { type Load, type LoadResult, runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const SECONDS = 5
const WARM_UP_SECONDS = 3
const CONNECTIONS = [1, 16, 64] as const
/** Also measured with the workers running. */
const BUSY_CONNECTIONS = 64
const WORKERS = ['dispatcher', 'signer', 'submitter', 'chain-follower'] as const
const BODY = JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH', gas_priority: 'medium' })

/**
 * Acceptance alone, with the workers stopped during the measurement, as with separate machines; then again with all of
 * them running on the same CPUs.
 */
export async function benchAccept(subject: Subject): Promise<Figure[]> {
  const [wallet = ''] = await fundedWallets(subject, 1)
  const ours: Target = {
    url: `${subject.service.state().base_url}/v1/wallets/${wallet}/transfer`,
    method: 'POST',
    body: BODY,
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
  }
  const bare: Target = {
    url: `${subject.bareUrl}/insert`,
    method: 'POST',
    body: BODY,
    headers: { 'content-type': 'application/json' },
  }
  for (const load of [bare, ours]) await runLoad({ ...load, connections: 64, seconds: WARM_UP_SECONDS })
  const figures: Figure[] = []
  for (const connections of CONNECTIONS) {
    await untilQuiet(subject)
    const ceiling = await runLoad({ ...bare, connections, seconds: SECONDS })
    const figure = await withWorkersHeld(subject, () => runLoad({ ...ours, connections, seconds: SECONDS }))
    figures.push(accepting(`accept, ${connections} at once`, figure, ceiling))
    if (connections !== BUSY_CONNECTIONS) continue
    await untilQuiet(subject)
    const busy = await runLoad({ ...ours, connections, seconds: SECONDS })
    figures.push(accepting(`accept, ${connections} at once, beside the work`, busy, ceiling))
  }
  await untilQuiet(subject)
  return figures
}

type Target = Pick<Load, 'url' | 'method' | 'body' | 'headers'>

function accepting(bench: string, figure: LoadResult, ceiling: LoadResult): Figure {
  return {
    bench,
    unit: '/s',
    ours: figure.perSecond,
    ceiling: ceiling.perSecond,
    ceilingIs: 'a bare Fastify route with one durable insert',
    note: `p50 ${figure.p50Ms} ms, p99 ${figure.p99Ms} ms`,
  }
}

/** Runs the work while the workers are stopped. */
export async function withWorkersHeld<T>({ service }: Subject, work: () => Promise<T>): Promise<T> {
  for (const name of WORKERS) service.kill(name, 'SIGSTOP')
  try {
    return await work()
  } finally {
    for (const name of WORKERS) service.kill(name, 'SIGCONT')
  }
}

/** Memory of the API process, in MB. */
export function apiMemoryMb(subject: Subject): number {
  const pid = subject.service.state().processes.find(({ name }) => name === 'api')?.pid ?? 0
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) / 1_024
}

/** Waits until all accepted work is finished, so that the next measurement runs alone. */
export async function untilQuiet(subject: Subject): Promise<void> {
  for (;;) {
    const response = await fetch(`${subject.service.state().base_url}/metrics`)
    const pending = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('bursar_transactions_pending{'))
    if (pending.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Rate of status reads, compared with a bare route that selects one row by primary key. */
export async function benchStatus(subject: Subject): Promise<Figure[]> {
  const [wallet = ''] = await fundedWallets(subject, 1)
  const { transaction_id: id } = await call<{ transaction_id: string }>(
    subject,
    'POST',
    `/v1/wallets/${wallet}/transfer`,
    JSON.parse(BODY),
  )
  await untilQuiet(subject)
  const ours = {
    url: `${subject.service.state().base_url}/v1/wallets/${wallet}/transactions/${id}`,
    method: 'GET' as const,
    headers: authHeaders(subject),
  }
  const bare = { url: `${subject.bareUrl}/select`, method: 'GET' as const }
  const figures: Figure[] = []
  for (const load of [ours, bare]) await runLoad({ ...load, connections: 16, seconds: 2 })
  for (const connections of CONNECTIONS) {
    const ceiling = await runLoad({ ...bare, connections, seconds: SECONDS })
    const figure = await runLoad({ ...ours, connections, seconds: SECONDS })
    figures.push({
      bench: `status read, ${connections} at once`,
      unit: '/s',
      ours: figure.perSecond,
      ceiling: ceiling.perSecond,
      ceilingIs: 'a bare Fastify route with one primary-key select',
      note: `p50 ${figure.p50Ms} ms, p99 ${figure.p99Ms} ms`,
    })
  }
  return figures
}
