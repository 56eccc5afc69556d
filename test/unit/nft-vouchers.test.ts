/** Vouchers and token updates: allowed requests in every state. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { upcast } from '../../src/event-log/aggregate.ts'
import { voucherWork } from '../../src/nft/tokens/jobs.ts'
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import type { VoucherFacts } from '../../src/nft/tokens/mint-decider.ts'
import type { MintEvent } from '../../src/nft/tokens/mint-events.ts'
import { tokenAggregate } from '../../src/nft/tokens/token-aggregate.ts'
import { tokenDecider } from '../../src/nft/tokens/token-decider.ts'
import type { TokenEvent } from '../../src/nft/tokens/token-events.ts'
import { toUpdates, type UpdateRow } from '../../src/nft/tokens/update-view.ts'
import { givenOf } from '../support/given.ts'

const NAMED = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const OTHER = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const NOW = '2026-11-21T12:00:00.000Z'
const CONTEXT = { id: 'mint_1', tenantId: 'acme', version: 3, recordedAt: NOW }

function golden<Evt>(type: string): Evt {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  const { schemas } = type.startsWith('Token') ? tokenAggregate : mintAggregate
  return upcast(schemas as never, file.type, file.schema_version, file.data) as Evt
}

const given = givenOf(mintAggregate)
type Mint = ReturnType<typeof given>

/** A lazy mint whose voucher has a recipient or none. */
function lazy(recipient: string | null, more: readonly MintEvent[] = [golden('VoucherSigned')]): Mint {
  const { type, data } = golden<Extract<MintEvent, { type: 'MintRecorded' }>>('MintRecorded')
  const [token] = data.tokens
  if (token === undefined) throw new Error('the golden mint has no tokens')
  const tokens = [{ ...token, recipient, transactionId: null }]
  return given({ type, data: { ...data, mintingType: 'LAZY', tokens } }, golden('VoucherRequested'), ...more)
}

const UNTOUCHED: VoucherFacts = { redemption: null, revocation: null, used: null }
const redeem = (mint: Mint, recipient: string | null, facts: Partial<VoucherFacts> = {}, now = NOW) =>
  mint.when({ type: 'RequestRedemption', recipient, transactionId: 'tx_1', facts: { ...UNTOUCHED, ...facts }, now })
const redeemed = (recipient: string | null, requestedAt = NOW) => ({
  type: 'VoucherRedemptionRequested',
  data: { transactionId: 'tx_1', recipient, requestedAt },
})
const revoke = (mint: Mint, facts: Partial<VoucherFacts> = {}) =>
  mint.when({ type: 'RequestRevocation', transactionId: 'tx_1', facts: { ...UNTOUCHED, ...facts }, now: NOW })
const revoked = { type: 'VoucherRevocationRecorded', data: { transactionId: 'tx_1', requestedAt: NOW } }

t.test('a voucher is redeemed for the recipient that it names, or that the redemption names', (t) => {
  redeem(lazy(NAMED), null).expect(t, redeemed(NAMED))
  redeem(lazy(NAMED), NAMED).expect(t, redeemed(NAMED))
  redeem(lazy(NAMED), OTHER).fails(t, { field: 'recipient', code: 'recipient_mismatch' })
  redeem(lazy(null), OTHER).expect(t, redeemed(OTHER))
  redeem(lazy(null), null).fails(t, { field: 'recipient', code: 'required' })
  t.end()
})

t.test('a voucher is redeemed once, and not after its end, its revocation or before its signature', (t) => {
  for (const facts of [{ used: 'minted' }, { redemption: 'done' }, { redemption: 'pending' }] as const) {
    redeem(lazy(NAMED), null, facts).fails(t, { type: 'conflict', code: 'already_redeemed' })
    revoke(lazy(NAMED), facts).fails(t, { type: 'conflict', code: 'already_redeemed' })
  }
  for (const revocation of ['done', 'pending'] as const) {
    redeem(lazy(NAMED), null, { revocation }).fails(t, { type: 'conflict', code: 'voucher_revoked' })
    revoke(lazy(NAMED), { revocation }).fails(t, { type: 'conflict', code: 'voucher_revoked' })
  }
  redeem(lazy(NAMED), null, {}, '2026-12-31T23:59:59.000Z').expect(t, redeemed(NAMED, '2026-12-31T23:59:59.000Z')) // in its last second
  redeem(lazy(NAMED), null, {}, '2027-01-01T00:00:00.000Z').fails(t, { type: 'conflict', code: 'voucher_expired' })
  redeem(lazy(NAMED, []), null).fails(t, { type: 'conflict', code: 'voucher_not_signed' })
  revoke(lazy(NAMED, [])).expect(t, revoked)
  const direct = given(golden('MintRecorded'))
  redeem(direct, null).fails(t, { type: 'conflict', code: 'not_lazy' })
  revoke(direct).fails(t, { type: 'conflict', code: 'not_lazy' })
  t.end()
})

t.test('after a failure a voucher can be redeemed or revoked again', (t) => {
  const facts = { redemption: 'failed', revocation: 'failed' } as const
  const tried = lazy(null, [
    golden('VoucherSigned'),
    golden('VoucherRedemptionRequested'),
    golden('VoucherRevocationRecorded'),
  ])
  redeem(tried, OTHER, facts).expect(t, redeemed(OTHER))
  revoke(tried, facts).expect(t, revoked)
  const { rows } = mintAggregate.project(mintAggregate.initialState, tried.state, CONTEXT)
  t.match(rows.find(({ table }) => table === 'nft_tokens')?.row, { recipient: NAMED, transaction_id: 'tx_3' })
  t.match(rows.find(({ table }) => table === 'nft_vouchers')?.row, {
    mint_id: 'mint_1',
    recipient: null,
    valid_until: '2026-12-31T23:59:59.000Z',
    signature: /^0x4355/,
    revocation_id: 'tx_4',
  })
  t.end()
})

t.test('the first signature is kept, and only a request for one makes a job', (t) => {
  const sign = { type: 'RecordSignature', signature: '0x01', now: NOW } as const
  const made = { type: 'VoucherSigned', data: { signature: '0x01', signedAt: NOW } }
  lazy(null, []).when(sign).expect(t, made)
  lazy(null).when(sign).expect(t)
  t.strictSame(voucherWork.jobsOf({ type: 'VoucherRequested', streamId: 'mint-mint_1' }), [
    { queue: 'voucher', id: 'mint_1', data: { mint_id: 'mint_1' } },
  ])
  for (const type of ['MintRecorded', 'VoucherSigned', 'WalletRequested'])
    t.strictSame(voucherWork.jobsOf({ type, streamId: 'mint-mint_1' }), [])
  t.end()
})

t.test('a state is folded from any sequence of events without a throw', (t) => {
  const types = [
    'MintRecorded',
    'VoucherRequested',
    'VoucherSigned',
    'VoucherRedemptionRequested',
    'VoucherRevocationRecorded',
  ]
  const events = fc.array(fc.constantFrom(...types).map((type) => golden<MintEvent>(type)))
  fc.assert(fc.property(events, (sequence) => ['unknown', 'recorded'].includes(given(...sequence).state.state)))
  t.end()
})

t.test('a frozen token does not change, and one whose freezing failed does', (t) => {
  const { data } = golden<Extract<TokenEvent, { type: 'TokenMetadataChanged' }>>('TokenMetadataChanged')
  const { metadata, cid, ...update } = data
  const frozen = givenOf(tokenDecider)(golden('TokenFrozen'))
  t.equal(frozen.state.freezeId, 'tx_6')
  for (const freeze of ['pending', 'done'] as const) {
    const refusal = { type: 'conflict', code: 'metadata_frozen' }
    frozen.when({ type: 'ChangeMetadata', update, metadata, cid, freeze }).fails(t, refusal)
    frozen.when({ type: 'Freeze', update, freeze }).fails(t, refusal)
  }
  for (const freeze of ['failed', null] as const)
    frozen
      .when({ type: 'ChangeMetadata', update, metadata, cid, freeze })
      .expect(t, { type: 'TokenMetadataChanged', data })
  t.end()
})

t.test('a token shows its pending change, and is frozen once that is in a block', (t) => {
  const update = (cid: string | null, state: string, succeeded: boolean | null = null): UpdateRow => ({
    cid,
    transaction_id: 'tx_1',
    state,
    succeeded,
    hash: null,
    failure: null,
  })
  t.strictSame(toUpdates([], 'ipfs://'), { pending_metadata_uri: null, frozen: false, last_update: null })
  t.match(toUpdates([update('a', 'mined', true), update('b', 'signed'), update('c', 'requested')], 'ipfs://'), {
    pending_metadata_uri: 'ipfs://c',
    frozen: false,
    last_update: { type: 'METADATA', status: 'PENDING' },
  })
  t.match(toUpdates([update('a', 'mined', true), update(null, 'signed')], 'ipfs://'), {
    pending_metadata_uri: null,
    frozen: false,
    last_update: { type: 'FREEZE', status: 'PENDING' },
  })
  t.match(toUpdates([update(null, 'confirmed', true)], 'ipfs://'), { frozen: true, last_update: { status: 'DONE' } })
  t.match(toUpdates([update(null, 'reverted', false)], 'ipfs://'), { frozen: false, last_update: { status: 'FAILED' } })
  t.end()
})
