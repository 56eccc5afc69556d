/** One voucher on a model of the chain, and the service beside it: the pure parts of both, as the follower runs them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Block, ChainLogEntry } from '../../src/chain/blocks.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { encodeMint, encodeRevoke } from '../../src/nft/contracts/encode-calls.ts'
import { nftEffects } from '../../src/nft/effects.ts'
import { outcomeIn } from '../../src/nft/outcome-change.ts'
import type { MovesOfBlock, OwnershipEvent } from '../../src/nft/ownership/events.ts'
import { movesIn } from '../../src/nft/ownership/moves.ts'
import { evolve as evolveOwners, NOBODY } from '../../src/nft/ownership/state.ts'
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import type { MintCommand } from '../../src/nft/tokens/mint-decider.ts'
import type { MintEvent } from '../../src/nft/tokens/mint-events.ts'
import type { MintState } from '../../src/nft/tokens/mint-state.ts'
import { usesIn } from '../../src/nft/tokens/observe-uses.ts'
import { voucherStatus } from '../../src/nft/tokens/voucher-status.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { type TransactionCommand, transactionDecider } from '../../src/transactions/decider.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import type { TransactionState } from '../../src/transactions/state.ts'
import { transferIntent } from './log.ts'
import { PUBLIC_LOG, renderFrom, toLogged } from './public-log.ts'
import { stored } from './stored.ts'

const NOW = '2026-11-29T12:00:00.000Z'
const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OURS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const OUTSIDER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const NOBODY_YET = `0x${'00'.repeat(20)}`
const CHAIN = 1_000_001
const CONFIRMATIONS = 3
const DIGEST = `0x${'ab'.repeat(32)}`

const golden = (name: string) =>
  JSON.parse(readFileSync(new URL(`../golden/events/${name}.v1.json`, import.meta.url), 'utf8'))

const ACTS = ['redeem', 'outside', 'revoke', 'burn', 'transfer', 'cancel'] as const
export const STEPS = [...ACTS, ...(['mine', 'mine', 'mine', 'reorg', 'vanish'] as const)] as const
export type Step = (typeof STEPS)[number]
/** A transaction in a mempool. `own`: of the service. */
type Sent = {
  readonly hash: string
  readonly own: string | null
  readonly act: 'mint' | 'revoke' | 'burn' | 'transfer'
  readonly to: string
}
type Token = { readonly used: 'minted' | 'revoked' | null; readonly owner: string | null }
type Mined = { readonly block: Block; readonly sent: readonly Sent[]; readonly after: Token }

/** The chain and the service beside it, for one LAZY mint with the id 1. */
export class VoucherWorld {
  private readonly rows: (typeof PUBLIC_LOG)[number][] = PUBLIC_LOG.filter(
    ({ stream_id }) => stream_id === 'collection-col_1',
  )
  private place = 50_000
  private serial = 0
  private pool: Sent[] = []
  private readonly chain: Mined[] = []
  private hasCode = true
  private owners = NOBODY
  private mint: MintState = mintAggregate.initialState
  private readonly versions = new Map<string, number>()
  private readonly transactions = new Map<string, TransactionState>()
  private moved: MovesOfBlock[] = []

  private record(
    stream: string,
    events: readonly { readonly type: string; readonly data: unknown }[],
    schema: number,
  ): void {
    for (const { type, data } of events) {
      const version = (this.versions.get(stream) ?? 0) + 1
      this.versions.set(stream, version)
      this.place += 1
      const place = { position: String(this.place), transaction_id: String(this.place) }
      const row = { ...place, stream_id: stream, stream_version: version, type, data: stored(data) }
      const metadata = { tenantId: 'acme', actor: 'test' }
      const rest = { schema_version: schema, metadata, recorded_at: new Date(NOW), hash: Buffer.alloc(32) }
      this.rows.push({ ...row, ...rest } as unknown as (typeof PUBLIC_LOG)[number])
    }
  }
  private onMint(command: MintCommand): void {
    const events: readonly MintEvent[] = mintAggregate.decide(command, this.mint)
    for (const event of events) this.mint = mintAggregate.evolve(this.mint, event)
    this.record('mint-mint_1', events, 1)
  }
  private onTransaction(id: string, command: TransactionCommand): void {
    const state = this.transactions.get(id) ?? transactionDecider.initialState
    const events: readonly TransactionEvent[] = transactionDecider.decide(command, state)
    this.transactions.set(id, events.reduce(transactionDecider.evolve, state))
    // The schemas of the opening events are of version 2, as are those of signatures and inclusions.
    for (const event of events) {
      const isSecond =
        /^(MintRequested|VoucherRevocationRequested|TransactionSigned|TransactionReplaced|TransactionMined)$/
      this.record(`transaction-${id}`, [event], isSecond.test(event.type) ? 2 : 1)
    }
  }
  private token(): Token {
    return this.chain.at(-1)?.after ?? { used: null, owner: null }
  }
  private outcomeOf(id: string | null | undefined) {
    const state = id ? this.transactions.get(id) : undefined
    return state === undefined || state.state === 'unknown' ? null : outcomeIn(state)
  }
  private facts() {
    if (this.mint.state === 'unknown') throw new Error('the mint was recorded')
    const redemption = this.outcomeOf(this.mint.mint.tokens[0]?.transactionId)
    const revocation = this.outcomeOf(this.mint.voucher?.revocationId)
    return { redemption, revocation, used: this.mint.voucher?.use?.as ?? null }
  }

  private request(act: 'mint' | 'revoke'): void {
    this.serial += 1
    const id = `tx_9${this.serial}`
    const hash = `0x${this.serial.toString(16).padStart(64, '0')}`
    const data =
      act === 'mint' ? encodeMint('ERC721', 1n, { recipient: OURS, amount: 1n, digest: DIGEST }) : encodeRevoke(1n)
    const intent: Intent = transferIntent({
      from: OURS,
      to: CONTRACT,
      data,
      amount: 0n,
      subject: { type: 'mint', id: 'mint_1' },
    })
    const command = { recipient: OURS, transactionId: id, facts: this.facts(), now: NOW }
    try {
      this.onMint({ type: act === 'mint' ? 'RequestRedemption' : 'RequestRevocation', ...command })
    } catch {
      return
    }
    this.onTransaction(id, {
      type: 'RequestTransaction',
      opening: act === 'mint' ? 'MintRequested' : 'VoucherRevocationRequested',
      intent,
    })
    const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
    const signed = { nonce: this.serial, hash, rawTransaction: '0x02', fees, signedAt: NOW }
    this.onTransaction(id, { type: 'RecordSignature', signed })
    this.pool.push({ hash, own: id, act, to: OURS })
  }

  private cancel(): void {
    const own = this.pool.find((one) => one.own !== null)
    if (own === undefined || own.own === null) return
    const state = this.transactions.get(own.own)
    if (state === undefined || state.state === 'unknown' || state.cancellationRequested) return
    this.onTransaction(own.own, { type: 'RequestCancellation', now: NOW })
    const hash = `0xcc${own.hash.slice(4)}`
    const fees = { gasLimit: 21_000n, maxFeePerGas: 4n, maxPriorityFeePerGas: 2n }
    const signed = { nonce: state.attempts[0]?.nonce ?? 0, hash, rawTransaction: '0x02', fees, signedAt: NOW }
    this.onTransaction(own.own, { type: 'RecordReplacement', signed, purpose: 'cancel' })
    this.pool = [...this.pool.filter((one) => one !== own), { ...own, hash, act: 'transfer', to: 'cancelled' }]
  }

  private execute(
    sent: Sent,
    before: Token,
  ): { readonly after: Token; readonly ok: boolean; readonly logs: ChainLogEntry[] } {
    const log = (name: string, values: unknown[]) => {
      const { topics, data } = COLLECTION_ABI.ERC721.encodeEventLog(name, values)
      return [{ address: CONTRACT.toLowerCase(), topics, data, logIndex: 0 }]
    }
    const unchanged = { after: before, logs: [] }
    // A call of an address without code succeeds.
    if (sent.to === 'cancelled' || !this.hasCode) return { ...unchanged, ok: true }
    const { used, owner } = before
    switch (sent.act) {
      case 'mint':
        if (used !== null) return { ...unchanged, ok: false }
        return { after: { used: 'minted', owner: sent.to }, ok: true, logs: log('Transfer', [NOBODY_YET, sent.to, 1n]) }
      case 'revoke':
        if (used !== null) return { ...unchanged, ok: false }
        return { after: { used: 'revoked', owner: null }, ok: true, logs: log('VoucherRevoked', [1n]) }
      default: {
        if (owner === null) return { ...unchanged, ok: false }
        const to = sent.act === 'burn' ? null : sent.to
        return { after: { used, owner: to }, ok: true, logs: log('Transfer', [owner, to ?? NOBODY_YET, 1n]) }
      }
    }
  }

  private mine(order: boolean): void {
    const number = 100 + this.chain.length
    const sent = order ? this.pool : this.pool.toReversed()
    this.pool = []
    this.serial += 1
    let after = this.token()
    const mined = sent.map((one) => {
      const done = this.execute(one, after)
      after = done.after
      return { one, ...done }
    })
    const block = {
      ...{ number, hash: `0xb${this.serial}`, parentHash: '0x', timestamp: 1_800_000_000 + this.serial },
      transactions: mined.map(({ one, ok, logs }) => ({ hash: one.hash, logs, status: ok ? 'success' : 'reverted' })),
    } as unknown as Block
    this.chain.push({ block, sent, after })
    for (const { one, ok, logs } of mined) {
      if (one.own === null) continue
      const state = this.transactions.get(one.own)
      if (state === undefined || state.state === 'unknown') continue
      const rule = nftEffects[one.act === 'revoke' ? 'VoucherRevocationRequested' : 'MintRequested']
      const isCancel = one.to === 'cancelled'
      const effect = ok && !isCancel ? ({ effect: rule(state.intent, logs) ? 'logged' : 'missing' } as const) : {}
      const inclusion = {
        ...{ hash: one.hash, blockNumber: number, blockHash: block.hash, succeeded: ok, logs: null, ...effect },
        ...{ gasUsed: 21_000n, effectiveGasPrice: 1n, blockTimestamp: NOW, minedAt: NOW },
      }
      this.onTransaction(one.own, { type: 'RecordInclusion', inclusion })
    }
    const [use] = usesIn([block], new Set([CONTRACT.toLowerCase()]))
    if (use !== undefined) {
      const { contract: _, tokenId: __, ...rest } = use
      const own = sent.find(({ hash }) => hash === use.hash)?.own ?? null
      this.onMint({ type: 'RecordUse', use: { ...rest, transactionId: own }, now: NOW })
    }
    for (const moves of movesIn([block], CHAIN, [CONTRACT]).get(CONTRACT) ?? []) {
      this.owners = evolveOwners(this.owners, { type: 'TokensMoved', data: { ...moves, observedAt: NOW } })
      this.moved.push(moves)
    }
    for (const [id, state] of this.transactions) {
      if (state.state === 'unknown' || state.inclusion === null) continue
      const confirmations = number - state.inclusion.blockNumber + 1
      if (confirmations >= CONFIRMATIONS)
        this.onTransaction(id, { type: 'Settle', confirmations, revertReason: 'it reverts', now: NOW })
    }
  }

  private reorg(depth: number): void {
    const gone = this.chain.splice(Math.max(0, this.chain.length - depth))
    if (gone.length === 0) return
    const ancestorNumber = 99 + this.chain.length
    const head = ancestorNumber + gone.length
    for (const [id, state] of this.transactions)
      if (state.state !== 'unknown' && state.inclusion !== null && state.inclusion.blockNumber > ancestorNumber)
        this.onTransaction(id, { type: 'RecordReorg', head, now: NOW })
    const undone = this.moved.filter(({ blockNumber }) => blockNumber > ancestorNumber).toReversed()
    this.moved = this.moved.filter(({ blockNumber }) => blockNumber <= ancestorNumber)
    for (const moves of undone) {
      const event: OwnershipEvent = { type: 'OwnershipReorged', data: { ...moves, ancestorNumber, observedAt: NOW } }
      this.owners = evolveOwners(this.owners, event)
    }
    this.onMint({ type: 'RecordUseReorg', ancestorNumber, now: NOW })
    // Its own transactions return to the mempool; those of others are gone for good.
    this.pool.push(...gone.flatMap(({ sent }) => sent.filter(({ own }) => own !== null)))
  }

  take(step: Step, n: number): void {
    this.serial += 1
    const foreign = { hash: `0xff${this.serial}`, own: null }
    if (step === 'redeem') this.request('mint')
    else if (step === 'revoke') this.request('revoke')
    else if (step === 'outside') this.pool.push({ ...foreign, act: 'mint', to: OUTSIDER })
    else if (step === 'burn') this.pool.push({ ...foreign, act: 'burn', to: OUTSIDER })
    else if (step === 'transfer') this.pool.push({ ...foreign, act: 'transfer', to: n % 2 === 0 ? OURS : OUTSIDER })
    else if (step === 'cancel') this.cancel()
    else if (step === 'vanish') this.hasCode = n % 4 !== 0
    else if (step === 'reorg') this.reorg(1 + (n % 5))
    else this.mine(n % 2 === 0)
  }

  async check(): Promise<void> {
    const { used, owner } = this.token()
    const status = voucherStatus(this.facts())
    if (used === null) assert.ok(status === 'LAZY' || status === 'PENDING', `${status} of an unused id`)
    else assert.equal(status, used === 'minted' ? 'MINTED' : 'REVOKED')
    const held = [...this.owners.pages.values()]
      .flatMap((page) => [...page.values()])
      .filter(({ amount }) => amount !== 0n)
    assert.deepEqual(
      held.map((one) => [one.owner, one.amount]),
      owner === null ? [] : [[owner, 1n]],
    )
    const events = (await renderFrom(this.rows)(this.rows.map(toLogged))).flat().map(({ event }) => event)
    const told = events.filter(({ type }) => /^nft\.mint\.(minted|revoked|reorged|failed)$/.test(type))
    const last = told.at(-1)?.data as { status?: string } | undefined
    // A request is told by its transaction: only then a mint is PENDING without an event of its own.
    const seen = last?.status ?? 'LAZY'
    const isOpen = (one: string) => one === 'PENDING' || one === 'LAZY'
    assert.ok(seen === status || (isOpen(seen) && isOpen(status)), `told ${seen}, and it is ${status}`)
  }

  constructor() {
    const recorded = golden('MintRecorded').data
    const [first] = recorded.tokens
    const tokens = [{ ...first, tokenId: '1', recipient: null, transactionId: null }]
    this.onMint({
      type: 'RecordMint',
      mint: { ...recorded, collectionId: 'col_1', mintingType: 'LAZY', tokens },
      voucher: golden('VoucherRequested').data,
    })
    this.onMint({ type: 'RecordSignature', signature: '0x01', now: NOW })
  }
}
