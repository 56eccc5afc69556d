/** How fast transfers are accepted, durably, against a bare route that makes one row durable. */
import { readFileSync } from 'node:fs'
import { runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const SECONDS = 5
const CONNECTIONS = [1, 16, 64] as const
const BODY = JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH', gas_priority: 'medium' })

/** @param note told beside each figure: how large the log is */
export async function benchAccept(subject: Subject, note = ''): Promise<Figure[]> {
  const figures: Figure[] = []
  const [wallet = ''] = await fundedWallets(subject, 1)
  const { base_url: baseUrl } = subject.service.state()
  const ours = {
    url: `${baseUrl}/v1/wallets/${wallet}/transfer`,
    method: 'POST' as const,
    body: BODY,
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
  }
  const bare = {
    url: `${subject.bareUrl}/insert`,
    method: 'POST' as const,
    body: BODY,
    headers: { 'content-type': 'application/json' },
  }
  for (const load of [ours, bare]) await runLoad({ ...load, connections: 16, seconds: 2 })
  for (const connections of CONNECTIONS) {
    await untilQuiet(subject)
    const ceiling = await runLoad({ ...bare, connections, seconds: SECONDS })
    await untilQuiet(subject)
    const figure = await runLoad({ ...ours, connections, seconds: SECONDS })
    figures.push({
      bench: `accept, ${connections} at once`,
      unit: '/s',
      ours: figure.perSecond,
      ceiling: ceiling.perSecond,
      ceilingIs: 'a bare Fastify route with one durable insert',
      note: `p50 ${figure.p50Ms} ms, p99 ${figure.p99Ms} ms ${note}`.trim(),
    })
  }
  await untilQuiet(subject)
  return figures
}

/** Memory of the API process, in MB. */
export function apiMemoryMb(subject: Subject): number {
  const pid = subject.service.state().processes.find(({ name }) => name === 'api')?.pid ?? 0
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) / 1_024
}

/** Waits until nothing that was accepted is unfinished: what is measured next is then alone. */
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

/** How fast a status is read, against a bare route that selects one row by primary key. */
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
