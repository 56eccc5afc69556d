/** Attacks with the database login of one process: what an attacker sends, and who refuses it. */
import { DISPATCHER } from '../../src/compose/dispatcher.ts'
import type { DatabaseRole } from '../../src/core/database-roles.ts'
import type { Loaded } from '../../src/event-log/aggregate.ts'
import { type AppendArguments, type GoldenEvent, goldenEvents, type Streams } from './door-events.ts'
import { rawEvent } from './raw-events.ts'

/** An append that would be accepted as it is, and what the attacker changes. */
export type Tampering = {
  readonly name: string
  readonly login: DatabaseRole
  readonly event: GoldenEvent
  readonly schemaVersion?: number
  readonly tamper?: (values: AppendArguments) => void
  /** How the attacker says that its stream ends. */
  readonly head?: (head: Loaded<unknown>) => Loaded<unknown>
}

/** A statement. It fails with `insufficient_privilege` where it changes nothing. */
export type Statement = { readonly name: string; readonly login: DatabaseRole; readonly text: string }

/** An append that the database accepts, and a transaction that nobody may sign after it. */
export type Forgery = {
  readonly name: string
  readonly login: DatabaseRole
  /** What others have appended before. */
  readonly before: readonly GoldenEvent[]
  readonly forged: GoldenEvent
  /** What others append then. */
  readonly after: readonly GoldenEvent[]
  readonly transactionId: string
  /** The same transaction, before or without the forgery: it may be signed. */
  readonly honest: readonly GoldenEvent[]
  readonly honestId: string
}

const THIEF = '0x000000000000000000000000000000000000dEaD'
const NINE_ETHER = '9000000000000000000'
const EVENTS = goldenEvents()
/** What is in force at the end of the golden log, for its only tagged wallet. */
const IN_FORCE = { version: newest('PolicyPublished').data.version, tags: newest('WalletTagged').data.tags, prices: [] }

function newest(type: string): GoldenEvent {
  const found = EVENTS.findLast((event) => event.type === type)
  if (found === undefined) throw new Error(`the golden log has no ${type}`)
  return found
}

/** The newest event of a type, with changes, in a stream of another id. It counts towards no limit, and is judged by what is in force. */
export function like(type: string, id: string, changes: object = {}, tenantId?: string): GoldenEvent {
  const found = newest(type)
  const policy = found.data.policy === undefined ? undefined : IN_FORCE
  const metadata = tenantId === undefined ? found.metadata : { ...found.metadata, tenantId }
  return {
    ...found,
    stream_id: `${found.stream_id.split('-', 1)[0]}-${id}`,
    data: { ...found.data, reservations: undefined, policy, ...changes },
    metadata,
  }
}

const first = (values: AppendArguments) => {
  const [event] = values.events
  if (event === undefined) throw new Error('the append has no event')
  return event
}

/** The hash of the first event of a stream with other data. */
function hashOf(event: Record<string, unknown>, data: object): string {
  const { stream_id: streamId, type, schema_version: schemaVersion, recorded_at: recordedAt } = event
  const [text, metadata] = [JSON.stringify(data), JSON.stringify(event.metadata)]
  const named = { streamId, type, schemaVersion, recordedAt, data: text, metadata }
  return rawEvent(named as Parameters<typeof rawEvent>[0]).hash
}

const RELABELLED = like('WalletRelabelled', 'wal_1')
const NATIVE = 'eip155:1/slip44:60'

export const TAMPERINGS: readonly Tampering[] = [
  {
    name: 'an event whose hash is not that of its content',
    login: 'api',
    event: like('TransferRequested', 'tx_hash'),
    tamper: (values) => Object.assign(first(values), { hash: 'ab'.repeat(32) }),
  },
  {
    name: 'an event that names another event before it',
    login: 'api',
    event: RELABELLED,
    tamper: (values) => Object.assign(first(values), { previous: 'cd'.repeat(32) }),
  },
  {
    name: 'an event that does not name the event before it',
    login: 'api',
    event: RELABELLED,
    tamper: (values) => delete first(values).previous,
  },
  {
    name: 'an event of version 2,000,000,000',
    login: 'api',
    event: RELABELLED,
    head: (head) => ({ ...head, version: 1_999_999_999 }),
    tamper: (values) => delete first(values).previous,
  },
  {
    name: 'an event of a schema version that no program knows',
    login: 'api',
    event: like('TransferRequested', 'tx_schema'),
    schemaVersion: 99,
  },
  {
    name: '600 rows of other transactions',
    login: 'api',
    event: like('TransferRequested', 'tx_rows'),
    tamper({ rows: { transactions = [] } }) {
      const [row] = transactions
      for (let n = 0; n < 600; n++) transactions.push({ ...row, transaction_id: `tx_row_${n}` })
    },
  },
  {
    name: 'a row that ends a transaction of another stream',
    login: 'api',
    event: like('TransferRequested', 'tx_row'),
    tamper({ rows: { transactions = [] } }) {
      transactions.push({ ...transactions[0], transaction_id: 'tx_5', state: 'failed' })
    },
  },
  {
    name: 'a request whose row says that it is confirmed',
    login: 'api',
    event: like('TransferRequested', 'tx_paid'),
    tamper: ({ rows }) => Object.assign(rows.transactions?.[0] ?? {}, { status: 'confirmed' }),
  },
  {
    name: 'a request whose row says in which block it is',
    login: 'api',
    event: like('TransferRequested', 'tx_in_block'),
    tamper: ({ rows }) => Object.assign(rows.transactions?.[0] ?? {}, { block_number: 1, succeeded: true }),
  },
  {
    name: 'a cancellation whose row says that the transaction is confirmed',
    login: 'api',
    event: like('TransactionCancelled', 'tx_21', { hash: null }),
    tamper: ({ rows }) => Object.assign(rows.transactions?.[0] ?? {}, { status: 'confirmed' }),
  },
  {
    name: 'a filler of a gap whose amount is no number',
    login: 'signer',
    event: like('NonceFillRequested', 'tx_nan'),
    tamper(values) {
      const event = first(values)
      const data = { ...(event.data as object), amount: 'NaN' }
      Object.assign(event, { data, hash: hashOf(event, data) })
      for (const row of values.rows.transactions ?? []) Object.assign(row, { amount: 'NaN' })
      for (const hold of values.guards.releases ?? []) Object.assign(hold, { delta: 'NaN' })
    },
  },
  {
    name: 'a hold of 10^30 on a wallet',
    login: 'api',
    event: like('TransferRequested', 'tx_hold'),
    tamper({ guards }) {
      guards.releases = [
        { commit: 0, wallet_id: 'wal_2', asset_id: NATIVE, delta: `1${'0'.repeat(30)}`, must_fit: false },
      ]
    },
  },
  {
    name: 'the key of a request that another tenant will send',
    login: 'api',
    event: RELABELLED,
    tamper({ guards }) {
      guards.idempotency = [{ commit: 0, tenant_id: 'victim', key: 'next', fingerprint: 'ab', resource_id: 'tx_thief' }]
    },
  },
  {
    name: 'another digest of an API key in the row of its revocation',
    login: 'operator',
    event: like('ApiKeyRevoked', 'key_1'),
    tamper: ({ rows }) => Object.assign(rows.api_keys?.[0] ?? {}, { digest: '00'.repeat(32), revoked_at: null }),
  },
]

/** Each is a valid event of its role at a place where it must not be. */
export const MISPLACED: readonly Tampering[] = [
  {
    name: 'the cancellation of a confirmed transaction',
    login: 'api',
    event: like('TransactionCancelled', 'tx_13', { hash: null }),
  },
  {
    name: 'a refresh of shares that nobody has requested',
    login: 'signer',
    event: like('MpcSharesRefreshRequested', 'mpk_1', { refreshId: 'rfr_coordinator' }),
  },
]

/** PL/pgSQL that fails where row security hides the row. */
const ifAny = (statement: string) =>
  `DO $$ BEGIN ${statement}; IF NOT FOUND THEN RAISE insufficient_privilege; END IF; END $$`

export const LEASE = 'sign-1-0xa'

/** @param fence of a signer's lease */
export const statements = (fence: string): readonly Statement[] => [
  { name: 'another router in the quote of a swap', login: 'api', text: "UPDATE swap_quotes SET quote = '{}'" },
  { name: 'another digest of an API key', login: 'operator', text: "UPDATE api_keys SET digest = ''" },
  { name: 'another digest of an API key', login: 'api', text: "UPDATE api_keys SET digest = ''" },
  { name: 'the lane of a signer', login: 'submitter', text: "SELECT acquire_lease('sign-1-0xb', 'submitter', 1000)" },
  {
    name: 'the lane of a signer, locked by an append',
    login: 'submitter',
    text: `SELECT append_commits('{"fences": [{"commit": 0, "name": "${LEASE}", "fence": ${fence}}]}', '[]', '{}')`,
  },
  {
    name: 'the checkpoint of the dispatcher',
    login: 'sender',
    text: ifAny(`UPDATE checkpoints SET position = position + 1000000 WHERE name = '${DISPATCHER}'`),
  },
  {
    name: 'the heartbeat of another party',
    login: 'party',
    text: "SELECT record_heartbeat('mpc-party-2', 'host:1', NULL)",
  },
  { name: 'a large object', login: 'party', text: 'SELECT lo_create(0)' },
  { name: 'a large object with content', login: 'party', text: "SELECT lo_from_bytea(0, 'x')" },
]

const SIGNED = {
  nonce: 5_000,
  hash: `0x${'5a'.repeat(32)}`,
  fees: { gasLimit: '21000', maxFeePerGas: '4500000000000', maxPriorityFeePerGas: '1000000000' },
}
const OF_VICTIM = { walletId: 'wal_2', chainId: 1_000_001 }
const OF_THIEF = { walletId: 'wal_thief', tenantId: 'thief', chainId: 1_000_002 }

export const FORGERIES: readonly Forgery[] = [
  {
    name: 'a filler of a nonce that sends 9 ETH',
    login: 'signer',
    before: [],
    forged: like('NonceFillRequested', 'tx_fill', { to: THIEF, amount: NINE_ETHER }),
    after: [],
    transactionId: 'tx_fill',
    honest: [like('NonceFillRequested', 'tx_honest_fill')],
    honestId: 'tx_honest_fill',
  },
  {
    name: 'an anchor of a checkpoint that sends 9 ETH',
    login: 'operator',
    before: [],
    forged: like('CheckpointAnchorRequested', 'tx_anchor', { to: THIEF, amount: NINE_ETHER }),
    after: [],
    transactionId: 'tx_anchor',
    honest: [like('CheckpointAnchorRequested', 'tx_honest_anchor')],
    honestId: 'tx_honest_anchor',
  },
  {
    name: 'bytes that nobody has signed, with 225 times the fee and a nonce of 5000',
    login: 'signer',
    before: [like('TransferRequested', 'tx_forged')],
    forged: like('TransactionSigned', 'tx_forged', SIGNED),
    after: [],
    transactionId: 'tx_forged',
    honest: [like('TransferRequested', 'tx_honest')],
    honestId: 'tx_honest',
  },
  {
    name: "a wallet of the thief with the key of another tenant's wallet",
    login: 'signer',
    before: [like('WalletRequested', 'wal_thief', { chainId: OF_THIEF.chainId }, 'thief')],
    forged: like('WalletCreated', 'wal_thief', {}, 'thief'),
    after: [like('TransferRequested', 'tx_thief', { ...OF_THIEF, policy: undefined }, 'thief')],
    transactionId: 'tx_thief',
    honest: [like('TransferRequested', 'tx_of_victim', { ...OF_VICTIM, policy: { ...IN_FORCE, tags: [] } })],
    honestId: 'tx_of_victim',
  },
]

/** @returns where the attacker says that the streams end */
export function claimed({ event, head }: Tampering, streams: Streams): Streams {
  const known = streams.get(event.stream_id)
  return head === undefined || known === undefined ? streams : new Map(streams).set(event.stream_id, head(known))
}
