/**
 * A lane with everything needed to judge it: its row, the state of its chain, and the transaction that blocks all
 * others.
 */
import type { Pool } from 'pg'
import type { EventLog } from '../../event-log/log.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { HeldCause } from '../../transactions/held-cause.ts'
import { readHeld } from '../../transactions/held-lanes.ts'
import { laneName, readSpares } from '../../transactions/lanes.ts'
import type { KnownTransaction } from '../../transactions/state.ts'
import { type ChainNow, type OperatorChain, readNativeBalances, readNonces } from '../chain-now.ts'
import { type LaneRow, readGaps } from './lane-rows.ts'
import { type LaneGas, readGas, USUAL_GAS } from './needed-gas.ts'

/** The transaction with the lowest nonce in flight: nothing behind it can be mined before it. */
export type Head = { readonly id: string; readonly transaction: KnownTransaction }

export type LaneNow = LaneRow & {
  readonly head: Head | null
  readonly gas: LaneGas
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

/** Adds to each row the state of its chain and stream, with a few calls for all rows together. */
export async function completeLanes(
  {
    pool,
    log,
    chains,
  }: {
    readonly pool: Pool
    readonly log: Pick<EventLog, 'loadMany'>
    readonly chains: readonly OperatorChain[]
  },
  rows: readonly LaneRow[],
  now: readonly ChainNow[],
): Promise<LaneNow[]> {
  const [known, nonces, balances] = await Promise.all([
    readTransactions(log, rows),
    askEach(chains, now, rows, (client, own) => readNonces(client, own.map(addressOf))),
    askEach(
      chains,
      now,
      rows.filter(({ counts }) => counts.awaitingFunds > 0),
      (client, own) => readNativeBalances(client, own.map(addressOf)),
    ),
  ])
  const questions = rows.flatMap((row) => {
    const from = nonces.get(row)
    return from === undefined || row.highestNonce === null || row.headNonce === null
      ? []
      : [{ row, lane: row.lane, from, highest: row.highestNonce }]
  })
  const readGasOf = (heads: ReadonlyMap<string, Head>) =>
    askEach(chains, now, rows, (client, own) =>
      readGas(
        client,
        own.map((row) => ({ address: row.lane.address, head: heads.get(row.ids.head ?? '')?.transaction ?? null })),
      ),
    )
  const [gaps, gas] = await Promise.all([readGaps(pool, questions), readGasOf(known)])
  const gapsOf = new Map(questions.map(({ row }, index) => [row, gaps[index] ?? []]))
  const held = await readHeld(
    pool,
    rows.map(({ lane }) => lane),
  )
  const poor = rows.filter((row) => gapsOf.get(row)?.length || row.ids.wish !== null)
  const wei = await readSpares(
    pool,
    poor.map(({ lane }) => lane),
  )
  const spares = new Map(poor.map((row, index) => [row, wei[index] ?? 0n]))
  return rows.map((row) => ({
    ...row,
    held: held.get(laneName(row.lane)) ?? null,
    spare: spares.get(row) ?? null,
    head: known.get(row.ids.head ?? '') ?? null,
    gas: gas.get(row) ?? USUAL_GAS,
    wish: known.get(row.ids.wish ?? '') ?? null,
    chainNonce: nonces.get(row) ?? null,
    nativeBalance: balances.get(row) ?? null,
    gaps: gapsOf.get(row) ?? [],
  }))
}

function addressOf({ lane }: LaneRow): string {
  return lane.address
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
  ask: (client: OperatorChain['client'], rows: readonly LaneRow[]) => Promise<(T | null)[]>,
): Promise<Map<LaneRow, T>> {
  const answers = new Map<LaneRow, T>()
  await Promise.all(
    chains.map(async ({ settings, client }) => {
      const isUp = now.some(({ settings: { chainId }, node }) => chainId === settings.chainId && node.up)
      const own = rows.filter(({ lane }) => lane.chainId === settings.chainId)
      if (!isUp || own.length === 0) return
      const told = await ask(client, own)
      for (const [index, row] of own.entries()) {
        const answer = told[index] ?? null
        if (answer !== null) answers.set(row, answer)
      }
    }),
  )
  return answers
}
