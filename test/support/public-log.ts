/** The golden log in memory, and events after it, so that it causes every public event. */
import { readFileSync } from 'node:fs'
import { WITHDRAWAL_TOPIC } from '../../src/chain/erc20.ts'
import { uintWord } from '../../src/chain/hex.ts'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { composeCatalogue } from '../../src/compose/catalogue.ts'
import type { LoggedEvent } from '../../src/event-log/read-logged.ts'
import type { EventRow } from '../../src/event-log/rows.ts'
import { createRender, type PublicEvent, type Render } from '../../src/feed/render.ts'

const golden = (path: string) => readFileSync(new URL(`../golden/${path}`, import.meta.url), 'utf8')

type Step = readonly [stream: string, event: string, patch?: Readonly<Record<string, unknown>>]

const HASH = '0xabababababababababababababababababababababababababababababababab'
const subject = (type: string, id: string) => ({ subject: { type, id } })
const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const token = (tokenId: string, transactionId: string | null) => ({
  tokenId,
  recipient: TO,
  amount: '1',
  metadata: { name: `Lighthouse #${tokenId}` },
  cid: `bafkreigolden${tokenId}`,
  transactionId,
})
const NFT = 'col_3'
/** By the router of the golden swap. */
const unwrapped = (amount: bigint) => ({
  address: TO.toLowerCase(),
  topics: [WITHDRAWAL_TOPIC, `0x${'68b3465833fb72a70ecdf485e0e4c7bd8665fc45'.padStart(64, '0')}`],
  data: `0x${uintWord(amount)}`,
  logIndex: 0,
})

/** Outcomes of NFT operations, which the golden log does not have. */
const LATER: readonly Step[] = [
  ['transaction-tx_101', 'CollectionDeployRequested.v2', subject('collection', NFT)],
  [`collection-${NFT}`, 'CollectionRequested.v1', { transactionId: 'tx_101' }],
  ['transaction-tx_101', 'TransactionSigned.v2'],
  ['transaction-tx_101', 'TransactionMined.v2'],
  ['transaction-tx_101', 'TransactionReorged.v1'],
  ['transaction-tx_101', 'TransactionFailed.v1'],
  ['transaction-tx_102', 'MintRequested.v2', subject('mint', 'mint_101')],
  ['mint-mint_101', 'MintRecorded.v1', { collectionId: NFT, tokens: [token('1', 'tx_102'), token('2', 'tx_199')] }],
  ['transaction-tx_102', 'TransactionSigned.v2'],
  ['transaction-tx_102', 'TransactionMined.v2'],
  ['transaction-tx_102', 'TransactionConfirmed.v1'],
  ['transaction-tx_102', 'SettlementRevoked.v1'],
  ['transaction-tx_102', 'TransactionMined.v2', { succeeded: false }],
  ['transaction-tx_102', 'TransactionReverted.v1'],
  ['mint-mint_102', 'MintRecorded.v1', { collectionId: NFT, mintingType: 'LAZY', tokens: [token('3', null)] }],
  ['mint-mint_102', 'VoucherRequested.v1'],
  ['mint-mint_102', 'VoucherSigned.v1'],
  ['transaction-tx_103', 'VoucherRevocationRequested.v2', subject('mint', 'mint_102')],
  ['mint-mint_102', 'VoucherRevocationRecorded.v1', { transactionId: 'tx_103' }],
  ['transaction-tx_103', 'TransactionSigned.v2'],
  ['transaction-tx_103', 'TransactionMined.v2'],
  ['transaction-tx_104', 'NftTransferRequested.v2', subject('nft_transfer', 'nftx_101')],
  [
    'nftx-nftx_101',
    'NftTransferRecorded.v1',
    {
      collectionId: NFT,
      items: [
        { tokenId: '1', to: TO, amount: '1', transactionId: 'tx_104', sequence: 1 },
        { tokenId: '2', to: TO, amount: '1', transactionId: 'tx_198', sequence: 1 },
      ],
    },
  ],
  ['transaction-tx_104', 'TransactionSigned.v2'],
  ['transaction-tx_104', 'TransactionMined.v2'],
  ['transaction-tx_104', 'TransactionReorged.v1'],
  // Cancelled in a block, as told by older versions: the operation was never done.
  ['transaction-tx_104', 'CancellationRequested.v1'],
  ['transaction-tx_104', 'TransactionReplaced.v2', { purpose: 'cancel', hash: '0x0104' }],
  ['transaction-tx_104', 'TransactionMined.v2', { hash: '0x0104' }],
  ['transaction-tx_104', 'TransactionCancelled.v1', { hash: '0x0104' }],
  ['observed-obs_101', 'TransferObserved.v1', { walletId: 'wal_3', notices: ['large_transfer'] }],
  ['observed-obs_101', 'TransferOrphaned.v1'],
  // Cancelled in a block that became final, and then left the chain.
  ['transaction-tx_105', 'NftTransferRequested.v2', subject('nft_transfer', 'nftx_102')],
  [
    'nftx-nftx_102',
    'NftTransferRecorded.v1',
    { collectionId: NFT, items: [{ tokenId: '1', to: TO, amount: '1', transactionId: 'tx_105', sequence: 2 }] },
  ],
  ['transaction-tx_105', 'TransactionSigned.v2'],
  ['transaction-tx_105', 'CancellationRequested.v1'],
  ['transaction-tx_105', 'TransactionReplaced.v2', { purpose: 'cancel', hash: '0x0105' }],
  ['transaction-tx_105', 'TransactionMined.v2', { hash: '0x0105', cancels: true }],
  ['transaction-tx_105', 'TransactionCancelled.v1', { hash: '0x0105', blockNumber: 100, confirmations: 32 }],
  ['transaction-tx_105', 'SettlementRevoked.v1', { hash: '0x0105', outcome: 'cancelled' }],
  // A swap that gave less than its minimum of 0.992015.
  ['transaction-tx_106', 'SwapRequested.v1', { dependsOn: null }],
  ['transaction-tx_106', 'TransactionSigned.v2'],
  ['transaction-tx_106', 'TransactionMined.v2', { logs: { entries: [unwrapped(9n * 10n ** 17n)], cut: false } }],
  ['transaction-tx_106', 'TransactionConfirmed.v1'],
]

const START = Date.parse('2026-11-23T12:00:00.000Z')

/** The rows of the table `events`, in reading order. */
export const PUBLIC_LOG: readonly EventRow[] = readRows()

function readRows(): EventRow[] {
  const lines = golden('log/log.jsonl').split('\n').slice(1, -2)
  const rows = lines.map((line): EventRow => {
    const row = JSON.parse(line)
    return { ...row, recorded_at: new Date(row.recorded_at), hash: Buffer.from(row.hash, 'hex') }
  })
  rows.sort(
    (a, b) => Number(BigInt(a.transaction_id) - BigInt(b.transaction_id)) || Number(a.position) - Number(b.position),
  )
  const versions = new Map(rows.map(({ stream_id, stream_version }) => [stream_id, stream_version]))
  for (const [n, [stream_id, name, patch]] of LATER.entries()) {
    const { type, schema_version, data } = JSON.parse(golden(`events/${name}.json`))
    const stream_version = (versions.get(stream_id) ?? 0) + 1
    versions.set(stream_id, stream_version)
    rows.push({
      position: String(10_000 + n),
      transaction_id: String(10_000 + n),
      stream_id,
      stream_version,
      type,
      schema_version,
      data: { ...data, ...('hash' in data ? { hash: HASH } : {}), ...patch },
      metadata: { tenantId: 'acme', actor: 'golden' },
      recorded_at: new Date(START + n * 1_000),
      hash: Buffer.alloc(32),
    })
  }
  return rows
}

export function toLogged(row: EventRow): LoggedEvent {
  return {
    streamId: row.stream_id,
    streamVersion: row.stream_version,
    place: { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) },
    type: row.type,
    tenantId: row.metadata.tenantId,
    environment: 'mainnet',
    recordedAt: row.recorded_at.toISOString(),
  }
}

export const CATALOGUE = await composeCatalogue()

/** @param onRead is called with the number of events of each read */
export function renderFrom(
  log: readonly EventRow[],
  onRead: (events: number) => void = () => undefined,
  checkpointBytes?: number,
): Render {
  return createRender({
    catalogue: CATALOGUE,
    aggregates: ALL_AGGREGATES,
    onUnreadable(_, error) {
      throw error
    },
    async readRanges(ranges, mostOfEach) {
      const rows = ranges.flatMap(({ streamId, from, to }) =>
        log
          .filter((row) => row.stream_id === streamId && row.stream_version >= from && row.stream_version <= to)
          .slice(0, mostOfEach),
      )
      onRead(rows.length)
      return rows
    },
    ...(checkpointBytes === undefined ? {} : { checkpointBytes }),
  })
}

export const renderFromMemory = renderFrom(PUBLIC_LOG)

/** Every public event of the log, in order. */
export async function publicEvents(): Promise<PublicEvent[]> {
  const rendered = await renderFromMemory(PUBLIC_LOG.map(toLogged))
  return rendered.flat().map(({ event }) => event)
}

/** The first event of a type by the publisher that declares it; others can repeat it. */
function firstOfType(events: readonly PublicEvent[], type: string): PublicEvent | undefined {
  const declared = CATALOGUE.types.find((one) => one.type === type)
  return events.find((event) => event.type === type && event.id.startsWith(`evt_${declared?.publisher.category}-`))
}

/**
 * What golden files hold, by name: of each type the first event of the publisher that declares it, and of each that repeats it,
 * such as `nft.mint.minted.mint` of the log of the contract.
 */
export function goldenEvents(events: readonly PublicEvent[]): ReadonlyMap<string, PublicEvent | undefined> {
  const named = new Map(CATALOGUE.types.map(({ type }) => [type, firstOfType(events, type)]))
  for (const { category, repeats, events: caused } of new Set(CATALOGUE.types.map(({ publisher }) => publisher)))
    for (const type of repeats.filter((one) => Object.values(caused).flat().includes(one)))
      named.set(
        `${type}.${category}`,
        events.find((event) => event.type === type && event.id.startsWith(`evt_${category}-`)),
      )
  return named
}

/** Ids of the golden log are short; those of the service, and so those of examples, have a UUID. */
const SHORT_ID = /\b(tx|wal|col|mint|nftx|obs|whk|dlv|whs|rpl|sig|key|exp|rfr)_(\d{1,3})\b/g
const DERIVED = ['obs']

/** The examples of the API reference, by type: the golden events with ids as the service has them. */
export function eventExamples(events: readonly PublicEvent[]): Readonly<Record<string, unknown>> {
  const first = CATALOGUE.types.map(({ type }) => firstOfType(events, type))
  const text = JSON.stringify(Object.fromEntries(first.map((event) => [event?.type, event])))
  const withIds = text.replace(SHORT_ID, (_, prefix: string, number: string) => {
    const version = DERIVED.includes(prefix) ? '8c3e' : '7c3e'
    return `${prefix}_01977b3e-6f7a-${version}-9f5b-0f6c2f1d8${number.padStart(3, '0')}`
  })
  return JSON.parse(withIds)
}

/** The content of a golden file. */
export function goldenBytes(event: PublicEvent): string {
  return `${JSON.stringify(event, null, 2)}\n`
}
