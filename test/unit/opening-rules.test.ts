/** What an initial event of each kind may ask for: a signer signs nothing else in its name. */
import t, { type Test } from 'tap'
import { DEPLOYMENT_PROXY } from '../../src/chain/deployment-proxy.ts'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { KINDS } from '../../src/compose/capabilities.ts'
import type { Opening } from '../../src/core/registry.ts'
import { OPENINGS } from '../../src/declarations.ts'
import { FACTORY_ABI } from '../../src/nft/contracts/artefact.ts'
import { deployFactory, FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { EARLIER_FACTORIES } from '../../src/nft/contracts/earlier-factories.ts'
import {
  encodeErc721Transfer,
  encodeFreeze,
  encodeMint,
  encodeRevoke,
  encodeTransferOwnership,
} from '../../src/nft/contracts/encode-calls.ts'
import { ensureFactory } from '../../src/nft/contracts/ensure-factory.ts'
import { deployGuard } from '../../src/swaps/contracts/guard.ts'
import { encodeUnwrap, encodeWrap } from '../../src/swaps/contracts/router.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { fold, golden } from '../support/recorded-transactions.ts'

const THIEF = '0x000000000000000000000000000000000000dEaD'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const ETHER = 10n ** 18n

/** The recorded intent of a kind, with what the service would send in its name. */
function intentOf(opening: Opening, change: Partial<Intent> = {}): Intent {
  const state = fold([golden(opening) as TransactionEvent])
  if (state.state === 'unknown') throw new Error('an opening opens')
  return { ...state.intent, ...change }
}

function judge(opening: Opening, change: Partial<Intent> = {}): string | null | undefined {
  return KINDS.get(OPENINGS[opening].type)?.rule(intentOf(opening, change))
}

function accepts(test: Test, opening: Opening, change: Partial<Intent> = {}): void {
  test.equal(judge(opening, change), null, opening)
}

function refuses(test: Test, opening: Opening, changes: readonly Partial<Intent>[]): void {
  for (const change of changes) test.type(judge(opening, change), 'string', `${opening} ${Object.keys(change).join()}`)
}

const { from } = intentOf('TransferRequested')
const token = { assetId: `eip155:1/erc20:${TOKEN}`, symbol: 'USDC', decimals: 6, contract: TOKEN }
const outflows = [{ asset: token, amount: 5n }]
const { call } = intentOf('ContractCallRequested')
const { swap } = intentOf('SwapRequested')
if (call === undefined || swap === undefined) throw new Error('the recorded events have a call and a swap')
const elsewhere = { subject: { type: 'other', id: '1' } }

t.test('every kind of initial event has a rule', async (test) => {
  test.strictSame(
    [...KINDS.keys()].sort(),
    Object.values(OPENINGS)
      .map(({ type }) => type)
      .sort(),
  )
})

t.test('a gap filler moves nothing, calls nothing and costs little', async (test) => {
  accepts(test, 'NonceFillRequested')
  refuses(test, 'NonceFillRequested', [
    { to: THIEF, amount: 9n * ETHER },
    { to: THIEF },
    { amount: 1n },
    { data: '0x' },
    { data: '0xdeadbeef' },
    { asset: token },
    { outflows },
    { call },
    { swap },
    { dependsOn: 'tx_1' },
    elsewhere,
    { reserved: { gasLimit: 100_001n, maxFeePerGas: 1n } },
  ])
})

t.test('an anchor moves nothing, and its call data is the note of its checkpoint', async (test) => {
  accepts(test, 'CheckpointAnchorRequested')
  const { data } = intentOf('CheckpointAnchorRequested')
  const note = Buffer.from(String(data).slice(2), 'hex').toString()
  const noted = (text: string) => ({ data: `0x${Buffer.from(text).toString('hex')}` })
  refuses(test, 'CheckpointAnchorRequested', [
    { to: THIEF, amount: 9n * ETHER },
    { to: THIEF },
    { amount: 1n },
    { asset: token },
    { data: null },
    { data: '0x' },
    { data: encodeApprove(THIEF, 5n) },
    { data: `${data}00` },
    noted(`${note}\n`),
    noted(note.replace('\n3\n', '\n4\n')),
    noted(note.slice(0, note.lastIndexOf('\n\n') + 2)),
    { subject: { type: 'checkpoint', id: '4' } },
    { outflows },
    { dependsOn: 'tx_1' },
    { subject: null },
  ])
})

t.test('an operator deploys the guard of swaps, and nothing else', async (test) => {
  const { to, data } = deployGuard()
  accepts(test, 'SwapGuardDeployRequested', { to, data })
  refuses(
    test,
    'SwapGuardDeployRequested',
    [
      { data: deployFactory().data },
      { data: `${data}00` },
      { data: null },
      { to: THIEF },
      { amount: 1n },
      { asset: token },
      { outflows },
      { call },
      { swap },
      { dependsOn: 'tx_1' },
      elsewhere,
    ].map((change) => ({ to, data, ...change })),
  )
})

t.test('a transfer has no call data, and a contract call records what it calls', async (test) => {
  accepts(test, 'TransferRequested')
  accepts(test, 'TransferRequested', { asset: token, subject: { type: 'transfer_batch', id: 'batch_1' } })
  refuses(test, 'TransferRequested', [
    { data: '0x' },
    { data: encodeApprove(THIEF, 5n) },
    { amount: 0n },
    { amount: -1n },
    { outflows },
    { call },
    { swap },
    elsewhere,
  ])
  accepts(test, 'ContractCallRequested', { amount: 7n })
  refuses(test, 'ContractCallRequested', [
    { data: null },
    { data: encodeApprove(THIEF, 5n) },
    { asset: token },
    { swap },
    elsewhere,
  ])
})

t.test('a swap sells what it records, and calls a token only to wrap or unwrap', async (test) => {
  accepts(test, 'SwapRequested')
  const amount = BigInt(swap.fromAmount)
  accepts(test, 'SwapRequested', { to: TOKEN, data: encodeUnwrap(TOKEN, amount).data })
  accepts(test, 'SwapRequested', {
    to: TOKEN,
    asset: intentOf('TransferRequested').asset,
    data: encodeWrap(TOKEN, amount).data,
    swap: { ...swap, toAsset: token },
  })
  accepts(test, 'SwapRequested', { amount: 4n, swap: { ...swap, amountType: 'exact_output', limit: '4' } })
  refuses(test, 'SwapRequested', [
    { amount: amount + 1n },
    { amount: 0n },
    { data: null },
    { to: from },
    { to: TOKEN },
    { to: TOKEN, data: encodeApprove(THIEF, 5n) },
    { call },
    { outflows },
    { subject: null },
    elsewhere,
  ])
  accepts(test, 'TokenApprovalRequested')
  refuses(test, 'TokenApprovalRequested', [
    { data: encodeApprove(THIEF, 5n).replace('095ea7b3', 'a9059cbb') },
    { data: `${encodeApprove(THIEF, 5n)}00` },
    { data: '0x095ea7b3' },
    { data: null },
    { amount: 1n },
    { to: from },
    { swap },
    elsewhere,
  ])
})

const DEPLOY = FACTORY_ABI.getFunction('deploy')?.selector ?? ''

t.test('transactions of NFTs call only the functions of their kind, without an amount', async (test) => {
  const nft = { from, to: THIEF, tokenId: 7n, amount: 1n }
  const digest = `0x${'ab'.repeat(32)}`
  const own: readonly (readonly [Opening, Partial<Intent>])[] = [
    ['CollectionDeployRequested', deployFactory()],
    ['CollectionDeployRequested', ensureFactory('WHOLE', `0x${'ab'.repeat(32)}`)],
    ['CollectionDeployRequested', ensureFactory('STEPS', `0x${'ab'.repeat(32)}`)],
    ...EARLIER_FACTORIES.map((to) => ['CollectionDeployRequested', { to, data: DEPLOY }] as const),
    ['MintRequested', { data: encodeMint('ERC721', 7n, { recipient: THIEF, amount: 1n, digest }) }],
    ['MintRequested', { data: encodeMint('ERC1155', 7n, { recipient: THIEF, amount: 1n, digest }) }],
    ['NftTransferRequested', { data: encodeErc721Transfer(nft) }],
    ['TokenUpdateRequested', { data: encodeFreeze(7n) }],
    ['VoucherRevocationRequested', { data: encodeRevoke(7n) }],
  ]
  for (const [opening, change] of own) {
    accepts(test, opening, change)
    const others: readonly Partial<Intent>[] = [
      { amount: 1n },
      { asset: token },
      { to: from },
      { data: null },
      { data: '0x' },
      { data: encodeApprove(THIEF, 5n) },
      { data: encodeTransferOwnership(THIEF) },
      { outflows },
      { call },
      { swap },
      elsewhere,
      { subject: null },
    ]
    refuses(
      test,
      opening,
      others.map((other) => ({ ...change, ...other })),
    )
  }
  refuses(test, 'NftTransferRequested', [{ data: encodeErc721Transfer({ ...nft, from: THIEF }) }])
  refuses(test, 'CollectionDeployRequested', [
    { to: FACTORY_ADDRESS, data: deployFactory().data },
    { to: DEPLOYMENT_PROXY, data: `${deployFactory().data}00` },
    { to: TOKEN, data: deployFactory().data },
    { to: DEPLOYMENT_PROXY, data: `${ensureFactory('WHOLE', `0x${'ab'.repeat(32)}`).data}00` },
    { to: DEPLOYMENT_PROXY, data: ensureFactory('WHOLE', `0x${'ab'.repeat(31)}`).data },
  ])
})
