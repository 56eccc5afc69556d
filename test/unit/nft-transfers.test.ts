/** Token transfers: valid requests, their calls, and their status from their transactions. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { BursarError } from '../../src/core/errors.ts'
import { decideOn, upcast } from '../../src/event-log/aggregate.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import {
  encodeErc721Transfer,
  encodeSafeBatchTransfer,
  encodeSafeTransfer,
} from '../../src/nft/contracts/encode-calls.ts'
import { nftTransferAggregate } from '../../src/nft/transfers/aggregate.ts'
import type { NftTransferEvent, NftTransferRecorded } from '../../src/nft/transfers/events.ts'
import type { HeldToken } from '../../src/nft/transfers/find-holdings.ts'
import { planCalls } from '../../src/nft/transfers/plan-calls.ts'
import { type NftTransferRequest, readFields } from '../../src/nft/transfers/read-fields.ts'
import { requireHeld } from '../../src/nft/transfers/require-held.ts'
import { simulate } from '../../src/nft/transfers/simulate.ts'
import { toTransferView } from '../../src/nft/transfers/view.ts'
import { OSAKA } from '../support/gas.ts'
import { matchExactly } from '../support/match-exactly.ts'

const FROM = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

const item = (tokenId: string, to = ALICE, amount: string | null = null) => ({ tokenId, to, amount })
function batch(...items: NftTransferRequest['items']): NftTransferRequest {
  return { collectionId: 'col_1', from: FROM, transferType: 'BATCH', items }
}
function held(tokenId: string, state: Partial<HeldToken> = {}): HeldToken {
  const none = { owned: 0n, leaving: 0n, leavingBy: null, transfers: 0, minting: null, holder: null }
  return { tokenId, ...none, ...state }
}
function refusalOf(task: () => unknown): string[] {
  try {
    task()
  } catch (error) {
    if (error instanceof BursarError) return error.items.map(({ field, code }) => `${field ?? ''} ${code}`.trim())
    throw error
  }
  return []
}

t.test('every invalid field is reported in one answer', async (t) => {
  const request = batch(item('1', ALICE, '0'), item('2', 'nowhere'), item('1', `0x${'00'.repeat(20)}`))
  t.strictSame(
    refusalOf(() => readFields({ ...request, from: 'me' }, 'ERC1155')),
    [
      'from invalid_address',
      'items[0].amount amount_zero',
      'items[1].to invalid_address',
      'items[2].token_id duplicate_token',
      'items[2].to zero_address',
    ],
  )
  t.strictSame(
    refusalOf(() => readFields(batch(item('1', ALICE, '2')), 'ERC721')),
    ['items[0].amount amount_not_one'],
  )
  const { from, items } = readFields(batch(item('1', ALICE.toLowerCase())), 'ERC721')
  t.strictSame({ from, items }, { from: FROM, items: [{ tokenId: '1', to: ALICE, amount: 1n }] })
})

t.test(
  'a sender can send what it holds and what is being minted for it, less what it is sending already',
  async (t) => {
    const request = batch(item('1', ALICE, '5'))
    const fields = readFields(request, 'ERC1155')
    const refused = (state: Partial<HeldToken>) =>
      refusalOf(() => requireHeld(request, fields, [held('1', state)], 'ERC1155'))
    t.strictSame(refused({}), ['items[0].token_id token_not_found'])
    t.strictSame(refused({ holder: BOB }), ['from not_holder'])
    t.strictSame(refused({ owned: 4n }), ['items[0].amount exceeds_balance'])
    t.strictSame(refused({ owned: 5n }), [])
    t.strictSame(refused({ owned: 2n, minting: { amount: 3n, transactionId: 'tx_1' } }), [])
    t.strictSame(refused({ owned: 9n, leaving: 5n, leavingBy: 'nftx_1' }), ['token_in_transfer'])
    t.strictSame(refused({ owned: 10n, leaving: 5n, leavingBy: 'nftx_1' }), [])
  },
)

t.test('a batch of ERC-721 is a call for each token, which waits for the mint of that token', async (t) => {
  const fields = readFields(batch(item('1'), item('2', BOB)), 'ERC721')
  const minting = { amount: 1n, transactionId: 'tx_7' }
  const state = [held('1', { owned: 1n }), held('2', { minting })]
  const calls = planCalls(fields, state, { rules: OSAKA, standard: 'ERC721', transferType: 'BATCH' })
  t.strictSame(
    calls.map(({ to, items, data, dependsOn }) => ({ to, items, data, dependsOn })),
    [
      { to: ALICE, items: [0], tokenId: 1n, dependsOn: null },
      { to: BOB, items: [1], tokenId: 2n, dependsOn: 'tx_7' },
    ].map(({ tokenId, ...call }) => ({
      ...call,
      data: encodeErc721Transfer({ from: FROM, to: call.to, tokenId, amount: 1n }),
    })),
  )
})

t.test('ERC-1155 moves all tokens of one receiver in one call, after the last of their mints', async (t) => {
  const fields = readFields(batch(item('1', ALICE, '2'), item('2', BOB, '3'), item('3', ALICE, '4')), 'ERC1155')
  const minted = (transactionId: string) => ({ minting: { amount: 9n, transactionId } })
  const state = [held('1', minted('tx_2')), held('2', { owned: 9n }), held('3', minted('tx_1'))]
  const calls = planCalls(fields, state, { rules: OSAKA, standard: 'ERC1155', transferType: 'BATCH' })
  t.strictSame(
    calls.map(({ to, items, data, dependsOn }) => ({ to, items, data, dependsOn })),
    [
      {
        to: ALICE,
        items: [0, 2],
        data: encodeSafeBatchTransfer(FROM, ALICE, [
          { tokenId: 1n, amount: 2n },
          { tokenId: 3n, amount: 4n },
        ]),
        dependsOn: 'tx_2',
      },
      {
        to: BOB,
        items: [1],
        data: encodeSafeTransfer('ERC1155', { from: FROM, to: BOB, tokenId: 2n, amount: 3n }),
        dependsOn: null,
      },
    ],
  )
})

t.test('a transfer is open as long as one item is, and has failed when one did', async (t) => {
  const now = new Date('2026-11-21T12:00:00.000Z')
  const transfer = {
    transfer_id: 'nftx_1',
    tenant_id: 'acme',
    collection_id: 'col_1',
    contract_address: BOB,
    wallet_id: 'wal_1',
    network: 'ethereum',
    environment: 'mainnet',
    from_address: FROM,
    transfer_type: 'BATCH',
    warnings: [],
    estimated_completion_at: now,
    created_at: now,
  } as const
  const row = (state: string, succeeded: boolean | null = null) => ({
    token_id: '1',
    to_address: ALICE,
    amount: '1',
    transaction_id: 'tx_1',
    hash: null,
    failure: null,
    state,
    succeeded,
  })
  const statusOf = (...rows: ReturnType<typeof row>[]) => toTransferView(transfer, rows).status
  t.equal(statusOf(row('requested')), 'PENDING')
  t.equal(statusOf(row('mined', true)), 'CONFIRMED')
  t.equal(statusOf(row('mined', false)), 'PENDING', 'the transfer is pending: another block may still include it')
  t.equal(statusOf(row('reverted', false)), 'FAILED')
  t.equal(statusOf(row('confirmed', true), row('reorged')), 'PENDING')
  t.equal(statusOf(row('confirmed', true), row('cancelled')), 'FAILED')
})

t.test('recorded events of every version are read, and their rows carry the place in the sequence', async (t) => {
  const golden = JSON.parse(
    readFileSync(new URL('../golden/events/NftTransferRecorded.v1.json', import.meta.url), 'utf8'),
  )
  const { type, schema_version, data } = golden
  const event = upcast<NftTransferEvent>(
    nftTransferAggregate.schemas,
    type,
    schema_version,
    data,
  ) as NftTransferRecorded
  const unknown = { id: 'nftx_1', state: nftTransferAggregate.initialState, version: 0, hash: '' }
  const command = { type: 'RecordTransfer', transfer: event.data } as const
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: event.data.requestedAt }
  const recorded = decideOn(nftTransferAggregate, unknown, command, context)
  matchExactly(t, recorded?.readModels.rows, [
    { table: 'nft_transfers', row: { transfer_id: 'nftx_1', transfer_type: 'BATCH' } },
    { table: 'nft_transfer_items', row: { transfer_id: 'nftx_1', item: 0, token_id: '1', amount: '5', sequence: 1 } },
  ])
  if (recorded === null) throw new Error('the transfer produced no event')
  t.throws(() => decideOn(nftTransferAggregate, recorded.after, command, context), { code: 'transfer_exists' })
})

t.test('a receiver that reverts with the error of the collection says nothing about the sender', async (t) => {
  const [from, to] = ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x5FbDB2315678afecb367f032d93F642f64180aa3']
  const lie = COLLECTION_ABI.ERC1155.encodeErrorResult('ERC1155InsufficientBalance', [from, 0, 1, 1])
  const balance = (units: number) => ({ ok: true as const, value: `0x${units.toString(16).padStart(64, '0')}` })
  const reverted = { ok: false as const, error: { code: 3, message: 'execution reverted', data: lie } }
  const tried = (units: number) => {
    const foreign = {
      batch: async (calls: readonly { readonly params: readonly unknown[] }[]) =>
        calls.map(({ params: [call] }) =>
          (call as { data: string }).data.startsWith('0x00fdd58e') ? balance(units) : reverted,
        ),
    }
    const chain = { foreign, code: { haveCode: async () => [true] } } as unknown as Parameters<typeof simulate>[0]
    const request = { collectionId: 'col_1', from, transferType: 'SAFE' as const, items: [] }
    const call = { to, items: [0], data: '0x01020304', gasLimit: 100_000n, dependsOn: null }
    const fields = { from, items: [{ tokenId: '1', to, amount: 1n }] }
    return simulate(chain, request, fields, { contract: to, standard: 'ERC1155' }, [call])
  }
  const refused = (units: number) => tried(units).catch((error: unknown) => error)
  matchExactly(t, await refused(5), { items: [{ field: 'to', code: 'unsafe_recipient' }] })
  matchExactly(t, await refused(0), { items: [{ field: 'from', code: 'not_holder' }] })
})
