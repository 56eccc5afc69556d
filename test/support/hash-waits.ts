/** How long transfers wait for their hash: each sender sends one after the other, and all of them at once. */
import type { Test } from 'tap'
import { formatAmount } from '../../src/core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../../src/core/networks.ts'
import type { Client } from './client.ts'
import { type Answered, type LoadWallet, RECIPIENT } from './load.ts'

export type Sender = { readonly api: Client; readonly wallets: readonly LoadWallet[] }

export type Waits = { readonly p50: number; readonly p90: number; readonly p99: number; readonly longest: number }

export type Timer = {
  /** Each sender sends as many transfers, one after the other, from its wallets in turn. Returns their waits, ms. */
  readonly waitsOf: (senders: readonly Sender[], transfers: number) => Promise<number[]>
  /** One transfer. Returns how long its hash took, ms. */
  readonly send: (api: Client, wallet: LoadWallet) => Promise<number>
  /** What was sent and answered. */
  readonly answers: Answered[]
}

/** Above the amounts of other transfers of a test. */
const LEAST_WEI = 10n ** 14n

export function createTimer(): Timer {
  const answers: Answered[] = []
  let asked = 0

  async function send(api: Client, wallet: LoadWallet): Promise<number> {
    asked += 1
    const amount = LEAST_WEI + BigInt(asked)
    const key = `timed-${asked}`
    const since = performance.now()
    const { status, body } = await api.insist({
      method: 'POST',
      path: `/v1/wallets/${wallet.id}/transfer`,
      key,
      body: {
        to: RECIPIENT,
        amount: formatAmount(amount, NATIVE_DECIMALS),
        asset: NATIVE_SYMBOL[wallet.network],
        reference_id: key,
      },
    })
    const waitedMs = performance.now() - since
    const transfer = { key, wallet, asset: 'native', amount, to: RECIPIENT, atMs: 0, impatient: false } as const
    answers.push({ transfer, status: 202, transactionId: body.data?.transaction_id ?? null, code: null })
    if (!body.data?.hash) throw new Error(`no hash: ${status} ${JSON.stringify(body)}`)
    return waitedMs
  }

  return {
    answers,
    send,
    async waitsOf(senders, transfers) {
      const waits = await Promise.all(
        senders.map(async ({ api, wallets }) => {
          const own: number[] = []
          for (let n = 0; n < transfers; n += 1) own.push(await send(api, wallets[n % wallets.length] as LoadWallet))
          return own
        }),
      )
      return waits.flat()
    },
  }
}

export function summary(waits: readonly number[]): Waits {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), longest: sorted.at(-1) ?? 0 }
}

function shown(waits: readonly number[]): string {
  const { p50, p90, p99, longest } = summary(waits)
  return [p50, p90, p99, longest].map((ms) => Math.round(ms)).join(' / ')
}

/** Nine of ten wait at most `ratio` times as long beside it as alone, and nobody as long as what it does. */
export function mustNotGrow(
  t: Test,
  what: string,
  {
    alone,
    beside,
    ratio,
    mostMs,
  }: {
    readonly alone: readonly number[]
    readonly beside: readonly number[]
    readonly ratio: number
    readonly mostMs?: number
  },
): void {
  t.comment(`${what}: p50 / p90 / p99 / longest ${shown(alone)} ms alone; ${shown(beside)} ms beside it`)
  t.ok(summary(beside).p90 <= ratio * summary(alone).p90, `${what}: the others wait no longer`)
  if (mostMs !== undefined) t.ok(summary(beside).longest < mostMs, `${what}: nobody waits for it`)
}
