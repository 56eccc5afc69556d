/** A log with wallets, balances and transfers, all written by events, that grows on request. */
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { balanceAggregate } from '../../src/balances/aggregate.ts'
import { appendOnce } from '../../src/event-log/accept.ts'
import { type Decision, decideOn } from '../../src/event-log/aggregate.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { NATIVE, newTransactionId, TEST_CHAIN, transferIntent, withLog } from './log.ts'

const METADATA = { tenantId: 'acme', actor: 'test' }
const NOW = '2026-01-01T00:00:00.000Z'

export type SomeLog = {
  readonly url: string
  readonly pool: Pool
  readonly log: EventLog
  /** Requests, signs and mines this many transfers, each with an idempotency key. Returns their ids. */
  readonly transfer: (count: number) => Promise<string[]>
}

const WALLET_ID = 'wal_1'

export async function withSomeLog(t: Test): Promise<SomeLog> {
  const { url, pool, log } = await withLog(t)
  await log.append({ decisions: [watchedWallet(), funds()] })
  let nonce = 0
  const transfer = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () => {
        nonce += 1
        return transferOnce(log, nonce)
      }),
    )
  return { url, pool, log, transfer }
}

async function transferOnce(log: EventLog, nonce: number): Promise<string> {
  const id = newTransactionId()
  const metadata = { ...METADATA, idempotency: { key: `key-${id}`, fingerprint: `print-${nonce}` } }
  const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() } as const
  const opened = decideOn(transactionAggregate, unknown(transactionAggregate, id), command, { metadata, now: NOW })
  await appendOnce(log, { decisions: opened === null ? [] : [opened] }, { resourceId: id, metadata })
  const hash = `0x${nonce}`
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce, hash, rawTransaction: '0x02', fees, signedAt: NOW }
  await log.execute(transactionAggregate, id, { type: 'RecordSignature', signed }, { metadata: METADATA })
  if (nonce % 3 === 0) return id
  const block = { blockNumber: nonce, blockHash: `0xb${nonce}`, blockTimestamp: NOW, minedAt: NOW }
  const inclusion = { hash, ...block, succeeded: true, logs: null, gasUsed: 21_000n, effectiveGasPrice: 2n }
  await log.execute(transactionAggregate, id, { type: 'RecordInclusion', inclusion }, { metadata: METADATA })
  return id
}

function watchedWallet(): Decision {
  const { network, environment, from: address } = transferIntent()
  const notifications = { largeTransfers: false, incomingTransactions: false, largeTransferThresholdUsd: '10000' }
  const watch = { network, environment, chainId: TEST_CHAIN, address, label: 'some', notifications, startedAt: NOW }
  const command = { type: 'StartWatch', watch } as const
  return made(decideOn(walletAggregate, unknown(walletAggregate, WALLET_ID), command, { metadata: METADATA, now: NOW }))
}

function funds(): Decision {
  const balance = (10n ** 30n).toString()
  const observations = [{ asset: NATIVE, balance, blockNumber: 1, blockHash: '0xb1' }]
  const command = { type: 'RecordObservations', observations, cause: 'block', now: NOW } as const
  return made(
    decideOn(balanceAggregate, unknown(balanceAggregate, WALLET_ID), command, { metadata: METADATA, now: NOW }),
  )
}

function unknown<State>({ initialState }: { readonly initialState: State }, id: string) {
  return { id, state: initialState, version: 0, hash: '' }
}

function made(decided: Decision | null): Decision {
  if (decided === null) throw new Error('a first command always decides something')
  return decided
}
