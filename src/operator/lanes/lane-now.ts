/**
 * A lane with everything needed to judge it: its row, the state of its chain, and the transaction that blocks all
 * others.
 */
import type { Pool } from 'pg'
import type { EventLog } from '../../event-log/log.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { HeldCause } from '../../transactions/held-cause.ts'
import { readHeld } from '../../transactions/held-lanes.ts'
import { createLaneReads, laneName } from '../../transactions/lanes.ts'
import type { KnownTransaction } from '../../transactions/state.ts'
import { type ChainNow, type OperatorChain, readNativeBalances, readNonces } from '../chain-now.ts'
import { type LaneRow, readGaps } from './lane-rows.ts'
import { neededGasBy } from './needed-gas.ts'

/** The transaction with the lowest nonce in flight: nothing behind it can be mined before it. */
export type Head = { readonly id: string; readonly transaction: KnownTransaction }

export type LaneNow = LaneRow & {
  readonly head: Head | null
  /** The gas that the head lacks by the rules of its chain; `null` if it has enough. */
  readonly headNeedsGas: bigint | null
  /** `null` when no node answers, or none is configured. */
  readonly chainNonce: number | null
  /** Wei; read only when funds may be insufficient. */
  readonly nativeBalance: bigint | null
  readonly gaps: readonly number[]
  /** Why signers sign nothing in it, and how long ago one said so; `null` when none did. */
  readonly held: { readonly cause: HeldCause; readonly seenMs: number } | null
  /** The native balance minus all holds, wei; read only for lanes with gaps or wishes. */
  readonly spare: bigint | null
  /** The first transaction whose cancellation or speed-up is not signed. */
  readonly wish: Head | null
}

export type LaneNowPorts = {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'loadMany'>
  readonly chains: readonly OperatorChain[]
}

/** Adds to each row the state of its chain and stream, with a few calls for all rows together. */
export async function completeLanes(
  { pool, log, chains }: LaneNowPorts,
  rows: readonly LaneRow[],
  now: readonly ChainNow[],
): Promise<LaneNow[]> {
  const [known, nonces, balances] = await Promise.all([
    readTransactions(log, rows),
    askEach(chains, now, rows, (client, addresses) => readNonces(client, addresses)),
    askEach(
      chains,
      now,
      rows.filter(({ counts }) => counts.awaitingFunds > 0),
      readNativeBalances,
    ),
  ])
  const questions = rows.flatMap((row) => {
    const from = nonces.get(row)
    return from === undefined || row.highestNonce === null || row.headNonce === null
      ? []
      : [{ row, lane: row.lane, from, highest: row.highestNonce }]
  })
  const [gaps, gas] = await Promise.all([readGaps(pool, questions), readNeededGas(chains, now, rows, known)])
  const gapsOf = new Map(questions.map(({ row }, index) => [row, gaps[index] ?? []]))
  const held = await readHeld(
    pool,
    rows.map(({ lane }) => lane),
  )
  const { spare } = createLaneReads(pool)
  const spares = new Map(
    await Promise.all(
      rows.flatMap((row) =>
        gapsOf.get(row)?.length || row.ids.wish !== null ? [spare(row.lane).then((wei) => [row, wei] as const)] : [],
      ),
    ),
  )
  return rows.map((row) => ({
    ...row,
    held: held.get(laneName(row.lane)) ?? null,
    spare: spares.get(row) ?? null,
    head: known.get(row.ids.head ?? '') ?? null,
    headNeedsGas: gas.get(row) ?? null,
    wish: known.get(row.ids.wish ?? '') ?? null,
    chainNonce: nonces.get(row) ?? null,
    nativeBalance: balances.get(row) ?? null,
    gaps: gapsOf.get(row) ?? [],
  }))
}

/** What the heads of lanes need now, where that is more than their bytes have. */
async function readNeededGas(
  chains: readonly OperatorChain[],
  now: readonly ChainNow[],
  rows: readonly LaneRow[],
  known: ReadonlyMap<string, Head>,
): Promise<Map<LaneRow, bigint>> {
  const up = chains.filter(({ settings: { chainId } }) =>
    now.some(({ settings, node }) => settings.chainId === chainId && node.up),
  )
  const needs = await Promise.all(
    up.map(async ({ settings: { chainId }, client }) => {
      const own = rows.filter(({ lane, ids }) => lane.chainId === chainId && known.has(ids.head ?? ''))
      if (own.length === 0) return []
      const neededGas = await neededGasBy(client)
      return Promise.all(
        own.map(async (row) => {
          const head = known.get(row.ids.head ?? '')
          const needed = head === undefined ? null : await neededGas(head.transaction)
          return needed === null ? [] : [[row, needed] as const]
        }),
      )
    }),
  )
  return new Map(needs.flat(2) as (readonly [LaneRow, bigint])[])
}

async function readTransactions(log: Pick<EventLog, 'loadMany'>, rows: readonly LaneRow[]): Promise<Map<string, Head>> {
  const ids = new Set(rows.flatMap(({ ids: { head, wish } }) => [head ?? [], wish ?? []].flat()))
  const loaded = ids.size === 0 ? [] : await log.loadMany(transactionAggregate, [...ids])
  return new Map(
    loaded.flatMap(({ id, state }) => (state.state === 'unknown' ? [] : [[id, { id, transaction: state }] as const])),
  )
}

/**
 * Queries the node of each lane's chain, all lanes of a chain at once; lanes whose node does not answer are left out.
 */
async function askEach<T>(
  chains: readonly OperatorChain[],
  now: readonly ChainNow[],
  rows: readonly LaneRow[],
  ask: (client: OperatorChain['client'], addresses: readonly string[]) => Promise<(T | null)[]>,
): Promise<Map<LaneRow, T>> {
  const answers = new Map<LaneRow, T>()
  await Promise.all(
    chains.map(async ({ settings, client }) => {
      const isUp = now.some(({ settings: { chainId }, node }) => chainId === settings.chainId && node.up)
      const own = rows.filter(({ lane }) => lane.chainId === settings.chainId)
      if (!isUp || own.length === 0) return
      const told = await ask(
        client,
        own.map(({ lane }) => lane.address),
      )
      for (const [index, row] of own.entries()) {
        const answer = told[index] ?? null
        if (answer !== null) answers.set(row, answer)
      }
    }),
  )
  return answers
}
